"""ListPartitionReassignments: on one broker nothing is ever on the move."""

import pytest

from broker.handlers.list_partition_reassignments import handle_list_partition_reassignments
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from tests.support.contexts import context


@pytest.mark.parametrize(
    "topics",
    [None, [], [ListPartitionReassignmentsTopics(name="nope", partition_indexes=[0, 1])]],
)
def test_nothing_moves(topics: list[ListPartitionReassignmentsTopics] | None) -> None:
    response = handle_list_partition_reassignments(
        context(0), ListPartitionReassignmentsRequest(topics=topics)
    )
    assert ListPartitionReassignmentsResponse.decode(response.encode(0), 0) == response
    assert (response.error_code, response.error_message, response.topics) == (0, None, [])
