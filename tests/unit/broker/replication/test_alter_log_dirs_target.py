"""The refusals of AlterReplicaLogDirs, in Kafka's order."""

import pytest

from broker.replication.alter_log_dirs_target import Target, refusal_of_target
from protocol.errors import ErrorCode
from protocol.model import TopicPartition

TP = TopicPartition("t", 0)
LONGEST = 255 - len("-0." + "0" * 32 + "-future")
FINE = Target(known=True, offline=False, cordoned=False, holds_it=False)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (FINE, None),
        (FINE._replace(known=False), ErrorCode.LOG_DIR_NOT_FOUND),
        (FINE._replace(offline=True, cordoned=True), ErrorCode.KAFKA_STORAGE_ERROR),
        (FINE._replace(cordoned=True), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (FINE._replace(cordoned=True, holds_it=True), None),
    ],
)
def test_refusals(target: Target, expected: ErrorCode | None) -> None:
    assert refusal_of_target(TP, target) == expected


def test_a_name_must_leave_room_for_the_marks_of_a_copy() -> None:
    assert refusal_of_target(TopicPartition("x" * LONGEST, 0), FINE) is None
    too_long = TopicPartition("x" * (LONGEST + 1), 0)
    unknown = FINE._replace(known=False)
    assert refusal_of_target(too_long, unknown) == ErrorCode.INVALID_TOPIC_EXCEPTION
