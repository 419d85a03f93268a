"""Whether a partition's log may go to a log directory: the refusals of AlterReplicaLogDirs (34).

    name too long for `-future`        INVALID_TOPIC_EXCEPTION
    directory not among log.dirs       LOG_DIR_NOT_FOUND
    directory offline                  KAFKA_STORAGE_ERROR
    directory cordoned                 INVALID_REPLICA_ASSIGNMENT, but for the log that is there
    partition offline                  KAFKA_STORAGE_ERROR
    partition not here                 the wish is kept, and REPLICA_NOT_AVAILABLE where metadata
                                       knows it, UNKNOWN_TOPIC_OR_PARTITION where not

Source: ReplicaManager.alterReplicaLogDirs, LogManager.isLogDirOnline (4.3).
"""

from typing import Final, NamedTuple

from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from storage.filenames import FUTURE, marked_directory_name

LONGEST_NAME: Final = 255
_UNIQUE: Final = "0" * 32


class Target(NamedTuple):
    """A log directory that was asked for; `holds_it`: the log, or its copy, is there already."""

    known: bool
    offline: bool
    cordoned: bool
    holds_it: bool


def refusal_of_target(partition: TopicPartition, target: Target) -> ErrorCode | None:
    """Why the directory cannot take the log; None if it can."""
    if len(marked_directory_name(*partition, FUTURE, _UNIQUE)) > LONGEST_NAME:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not target.known:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if target.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if target.cordoned and not target.holds_it:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    return None
