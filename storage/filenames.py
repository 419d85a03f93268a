"""Every name in a log directory, made and parsed here and nowhere else.

```text
<log.dir>/.lock  .boot-id  .kafka_cleanshutdown  meta.properties  *-checkpoint
<log.dir>/<topic>-<partition>/                       live replica
<log.dir>/<topic>-<partition>.<32 hex>-delete/       waits for its removal
<log.dir>/<topic>-<partition>.<32 hex>-future/       is filled from another log directory
<log.dir>/<topic>-<partition>.<32 hex>-stray/        metadata does not know it
    00000000000000000000.log  .index  .timeindex  .txnindex     base offset, 20 digits
    00000000000000000000.snapshot                    producers up to that offset, exclusive
    leader-epoch-checkpoint   partition.metadata   newer-than-checkpoints   moved-from   .boot-id
    suffixes: .deleted  .cleaned  .swap
```
Directory names are read from the right, because a topic may hold `-` and `.`. Those of deletion
and strays keep within 255 bytes by cutting the topic, so they need not name it whole.
Source: LogFileUtils.java, LocalLog.java (4.3).
"""

from typing import NamedTuple

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"

NO_SUFFIX = ""
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
TEMPORARY = ".tmp"

LOCK_FILE = ".lock"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
META_PROPERTIES_FILE = "meta.properties"
METADATA_STORE_FILE = "tidelog-metadata.sqlite"
BOOT_ID_FILE = ".boot-id"
PARTITION_METADATA_FILE = "partition.metadata"
NEWER_THAN_CHECKPOINTS = "newer-than-checkpoints"
MOVED_FROM = "moved-from"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

LIVE = ""
DELETE = "-delete"
FUTURE = "-future"
STRAY = "-stray"

_KINDS = frozenset((LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, SNAPSHOT))
_SUFFIXES = (DELETED, CLEANED, SWAP)
_STATES = (DELETE, FUTURE, STRAY)
_LONGEST_NAME = 255


class SegmentFileName(NamedTuple):
    """A parsed file name: base offset, kind (`LOG` …), suffix (`DELETED` … or none)."""

    base_offset: int
    kind: str
    suffix: str


class PartitionDirectoryName(NamedTuple):
    """A parsed directory name: topic (maybe cut), partition, state, and the 32 hex digits."""

    topic: str
    partition: int
    state: str
    unique: str


def segment_file_name(base_offset: int, kind: str, suffix: str = NO_SUFFIX) -> str:
    """Name of one file of a segment."""
    return f"{base_offset:020d}{kind}{suffix}"


def segment_path(directory: str, base_offset: int, kind: str, suffix: str = NO_SUFFIX) -> str:
    """Path of one file of a segment."""
    return f"{directory}/{base_offset:020d}{kind}{suffix}"


def parse_segment_file_name(name: str) -> SegmentFileName | None:
    """What a file in a partition directory is; None if it is no file of a segment."""
    suffix = NO_SUFFIX
    for candidate in _SUFFIXES:
        if name.endswith(candidate):
            suffix = candidate
            name = name[: -len(candidate)]
            break
    digits, dot, kind = name.partition(".")
    if dot + kind not in _KINDS or not digits.isascii() or not digits.isdigit():
        return None
    return SegmentFileName(int(digits), dot + kind, suffix)


def partition_directory_name(topic: str, partition: int) -> str:
    """Name of a live replica's directory."""
    return f"{topic}-{partition}"


def marked_directory_name(topic: str, partition: int, state: str, unique: str) -> str:
    """Name of a directory in state `DELETE`, `FUTURE` or `STRAY`; unique is 32 hex digits.

    Deletion and strays cut the topic to fit 255 characters; a future directory's name must be
    readable in full and so is never cut.
    """
    tail = f"-{partition}.{unique}{state}"
    if state != FUTURE:
        topic = topic[: _LONGEST_NAME - len(tail)]
    return topic + tail


def parse_partition_directory_name(name: str) -> PartitionDirectoryName | None:
    """What a directory in a log directory is; None if it is no partition's."""
    state = unique = ""
    for candidate in _STATES:
        if name.endswith(candidate):
            name, _, unique = name[: -len(candidate)].rpartition(".")
            if not unique:
                return None
            state = candidate
            break
    topic, _, partition = name.rpartition("-")
    if not topic or not partition.isascii() or not partition.isdigit():
        return None
    return PartitionDirectoryName(topic, int(partition), state, unique)
