"""ConsumerGroupHeartbeat over a real log: answered, refused as a whole, and persisted."""

import pytest

from broker.handlers.consumer_group_heartbeat import handle_consumer_group_heartbeat
from cluster.features import NO_FEATURES
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.support.group_broker import GroupBroker


def joining(**fields: object) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def test_a_member_joins_and_is_still_there_when_the_broker_reads_its_log() -> None:
    groups = GroupBroker()
    groups.broker.create("t", 2)
    response = groups.ask(handle_consumer_group_heartbeat, joining(), 1).reply
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    assert (response.member_id, response.member_epoch) == ("m", 2)
    assert response.heartbeat_interval_ms == 5000
    assert response.assignment is not None
    assert [one.partitions for one in response.assignment.topic_partitions] == [[0, 1]]


def test_refusals_say_why() -> None:
    groups = GroupBroker()
    response = groups.ask(handle_consumer_group_heartbeat, joining(member_epoch=3), 1).reply
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert response.error_message == "Consumer group g not found."
    assert (response.member_id, response.member_epoch, response.assignment) == (None, 0, None)


def test_without_the_topic_nobody_coordinates() -> None:
    groups = GroupBroker(partitions=0)
    response = groups.ask(handle_consumer_group_heartbeat, joining(), 1).reply
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    assert response.error_code == ErrorCode.NOT_COORDINATOR


def test_bad_requests_and_clusters_that_do_without_are_refused_first() -> None:
    groups = GroupBroker()
    with pytest.raises(KafkaError) as refused:
        groups.ask(handle_consumer_group_heartbeat, joining(group_id=""), 1)
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    groups.metadata.features = NO_FEATURES
    with pytest.raises(KafkaError) as refused:
        groups.ask(handle_consumer_group_heartbeat, joining(), 1)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
