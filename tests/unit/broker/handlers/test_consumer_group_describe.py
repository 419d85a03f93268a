"""ConsumerGroupDescribe: each group with its own error."""

from broker.handlers.consumer_group_describe import handle_consumer_group_describe
from broker.handlers.consumer_group_heartbeat import handle_consumer_group_heartbeat
from broker.handlers.describe_groups import GROUP_OPERATIONS
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from protocol.model import AUTHORIZED_OPERATIONS_UNKNOWN
from tests.support.group_broker import GroupBroker
from tests.unit.broker.handlers.test_consumer_group_heartbeat import joining


def test_each_group_has_its_answer_those_without_a_name_first() -> None:
    groups = GroupBroker()
    groups.ask(handle_consumer_group_heartbeat, joining(), 1)
    request = ConsumerGroupDescribeRequest(
        group_ids=["none", "", "g"], include_authorized_operations=True
    )
    response = groups.ask(handle_consumer_group_describe, request, 1).reply
    assert isinstance(response, ConsumerGroupDescribeResponse)
    told = [(one.group_id, one.error_code, one.group_state) for one in response.groups]
    assert told == [
        ("", ErrorCode.INVALID_GROUP_ID, ""),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND, ""),
        ("g", ErrorCode.NONE, "Stable"),
    ]
    assert [one.authorized_operations for one in response.groups] == [
        AUTHORIZED_OPERATIONS_UNKNOWN,
        AUTHORIZED_OPERATIONS_UNKNOWN,
        GROUP_OPERATIONS,
    ]
