"""Reassignments on one broker: Kafka's checks in their order; what passes is so already."""

import pytest

from cluster.controller.reassignment import Reassignment, find_fault
from cluster.controller.topics import Replicas
from protocol.errors import ErrorCode
from protocol.model import TopicPartition

TOPICS: dict[str, Replicas] = {"t": {0: (1,), 1: (1,)}}


def fault(
    name: str, index: int, replicas: list[int] | None, *, may_change_factor: bool = True
) -> tuple[int, str | None] | None:
    found = find_fault(
        Reassignment(TopicPartition(name, index), replicas),
        TOPICS,
        [1],
        may_change_factor=may_change_factor,
    )
    return None if found is None else (found.code, found.message)


@pytest.mark.parametrize("may_change_factor", [True, False])
def test_the_assignment_in_force_is_a_success(may_change_factor: bool) -> None:
    assert fault("t", 1, [1], may_change_factor=may_change_factor) is None


def test_nothing_moves_that_could_be_stopped() -> None:
    assert fault("t", 0, None) == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)


@pytest.mark.parametrize("replicas", [None, [1], [9]])
def test_what_is_not_there_is_unknown(replicas: list[int] | None) -> None:
    assert fault("nope", 0, replicas) == (3, "Unable to find a topic named nope.")
    assert fault("t", 9, replicas) == (3, "Unable to find partition t:9.")


@pytest.mark.parametrize("may_change_factor", [True, False])
@pytest.mark.parametrize(
    ("replicas", "reason"),
    [
        ([], "includes an empty replica list."),
        ([1, 9], "includes broker 9, but no such broker is registered."),
        ([1, 1], "includes the broker 1 more than once."),
    ],
)
def test_an_assignment_that_cannot_be_is_refused(
    replicas: list[int], reason: str, may_change_factor: bool
) -> None:
    assert fault("t", 0, replicas, may_change_factor=may_change_factor) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        f"The manual partition assignment {reason}",
    )


def test_the_number_of_replicas_stays_if_it_must() -> None:
    wanted = Reassignment(TopicPartition("t", 0), [1, 2])
    found = find_fault(wanted, TOPICS, [1, 2], may_change_factor=False)
    assert found is not None
    assert (found.code, found.message) == (38, "The replication factor is changed from 1 to 2")
