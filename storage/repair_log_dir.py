"""Repairs a log directory into a new one: every live log, and the files that belong to them all.

    meta.properties, the metadata store, a KRaft metadata log     copied as they are
    logs                                                          storage.repair
    checkpoints     recovery point and high watermark at each log's new end, log starts and first
                    dirty offsets within it
    .kafka_cleanshutdown     last of all: everything below is whole, indexed and synced
Directories that are deleted, moved or set aside, and files of others, are left out and named.

All of it is made in `<target>.partial`, which gets its name when everything is durable: a repair
that was stopped leaves nothing that a broker could be started on by mistake.
"""

from collections.abc import Sequence
from typing import NamedTuple

from protocol.model import TopicPartition
from runtime.disk import Disk
from storage.checkpoints import OffsetCheckpoint
from storage.errors import CorruptFileError
from storage.filenames import (
    BOOT_ID_FILE,
    CLEAN_SHUTDOWN_FILE,
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LIVE,
    LOCK_FILE,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES_FILE,
    METADATA_STORE_FILE,
    RECOVERY_POINT_CHECKPOINT,
    parse_partition_directory_name,
)
from storage.log_dirs import write_clean_shutdown_mark
from storage.repair import Advance, LogReport, repair_log

PARTIAL = ".partial"
_METADATA_LOG = "__cluster_metadata-0"
_COPIED = (META_PROPERTIES_FILE, "bootstrap.checkpoint")
_MADE_ANEW = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    CLEANER_CHECKPOINT,
)
_LEFT_SILENTLY = frozenset((LOCK_FILE, BOOT_ID_FILE, CLEAN_SHUTDOWN_FILE, *_MADE_ANEW))

Offsets = dict[TopicPartition, int]


class DirectoryReport(NamedTuple):
    """What became of each log; what was left out, and why."""

    logs: list[LogReport]
    left_out: list[tuple[str, str]]

    @property
    def lost(self) -> int:
        """How many offsets are gone, at most as many records."""
        return sum(loss.end - loss.first for log in self.logs for loss in log.losses)


def repair_partition_directory(
    disk: Disk, source: str, target: str | None, advance: Advance
) -> DirectoryReport:
    """Repair one partition directory into a new one; without target only say what would be."""
    log_dir, _, name = source.rpartition("/")
    checkpoints, _ = _read_checkpoints(disk, log_dir)
    partial = None if target is None else target + PARTIAL
    log = repair_log(disk, source, partial, _known_end(checkpoints, name), advance)
    if target is not None:
        _reveal(disk, target)
    return DirectoryReport([log], [])


def repair_log_dir(
    disk: Disk, source: str, target: str | None, advance: Advance
) -> DirectoryReport:
    """Repair a log directory into a new one; without target only say what would be."""
    partial = None if target is None else target + PARTIAL
    if partial is not None:
        disk.makedirs(partial)
    checkpoints, left_out = _read_checkpoints(disk, source)
    logs: list[LogReport] = []
    for name in sorted(disk.listdir(source)):
        path = f"{source}/{name}"
        try:
            reason = _look_at(disk, source, partial, name)
            if reason is None:
                log_target = None if partial is None else f"{partial}/{name}"
                known_end_offset = _known_end(checkpoints, name)
                logs.append(repair_log(disk, path, log_target, known_end_offset, advance))
            elif reason:
                left_out.append((path, reason))
        except OSError as error:
            if error.filename is None or not str(error.filename).startswith(source):
                raise  # the target's disk: nothing can be made of it
            left_out.append((path, f"cannot be read: {error.strerror}"))
    if target is not None and partial is not None:
        _write_checkpoints(disk, partial, logs, checkpoints)
        write_clean_shutdown_mark(disk, partial)
        _reveal(disk, target)
    return DirectoryReport(logs, left_out)


def _look_at(disk: Disk, source: str, partial: str | None, name: str) -> str | None:
    """None for a log to be repaired; else why the name is left out, empty where it is not said."""
    path = f"{source}/{name}"
    if disk.isdir(path):
        if name == _METADATA_LOG:
            _copy_tree(disk, path, partial and f"{partial}/{name}")
            return ""
        parsed = parse_partition_directory_name(name)
        if parsed is not None and parsed.state == LIVE:
            return None
        return "not the directory of a live log"
    if name in _COPIED or name.startswith(METADATA_STORE_FILE):
        if partial is not None:
            disk.write_file(f"{partial}/{name}", disk.read_file(path), sync=True)
        return ""
    return "" if name in _LEFT_SILENTLY else "not a file of a log directory"


def _copy_tree(disk: Disk, source: str, target: str | None) -> None:
    if target is None:
        return
    disk.mkdir(target)
    for name in disk.listdir(source):
        data = disk.read_file(f"{source}/{name}")
        disk.write_file(f"{target}/{name}", data, sync=True)
    disk.fsync_dir(target)


def _reveal(disk: Disk, target: str) -> None:
    """Give the finished directory its name: the one step in which the result comes to be."""
    disk.fsync_dir(target + PARTIAL)
    disk.rename(target + PARTIAL, target)
    disk.fsync_dir(target.rpartition("/")[0] or "/")


def _read_checkpoints(disk: Disk, log_dir: str) -> tuple[dict[str, Offsets], list[tuple[str, str]]]:
    found: dict[str, Offsets] = {}
    unreadable = []
    for name in _MADE_ANEW:
        checkpoint = OffsetCheckpoint(disk, log_dir, name)
        try:
            found[name] = checkpoint.read()
        except CorruptFileError as error:
            found[name] = {}
            unreadable.append((checkpoint.path, f"made anew: {error.reason}"))
        except OSError as error:
            found[name] = {}
            unreadable.append((checkpoint.path, f"made anew: {error.strerror}"))
    return found, unreadable


def _known_end(checkpoints: dict[str, Offsets], name: str) -> int:
    """How far the log reached, as far as the checkpoints tell."""
    parsed = parse_partition_directory_name(name)
    if parsed is None:
        return 0
    partition = TopicPartition(parsed.topic, parsed.partition)
    names = (RECOVERY_POINT_CHECKPOINT, HIGH_WATERMARK_CHECKPOINT)
    return max(checkpoints[name].get(partition, 0) for name in names)


def _write_checkpoints(
    disk: Disk, log_dir: str, logs: Sequence[LogReport], before: dict[str, Offsets]
) -> None:
    made: dict[str, Offsets] = {name: {} for name in _MADE_ANEW}
    for log in logs:
        parsed = parse_partition_directory_name(log.name)
        assert parsed is not None, log.name
        partition = TopicPartition(parsed.topic, parsed.partition)
        end = log.log_end_offset
        made[RECOVERY_POINT_CHECKPOINT][partition] = end
        made[HIGH_WATERMARK_CHECKPOINT][partition] = end
        for name in (LOG_START_OFFSET_CHECKPOINT, CLEANER_CHECKPOINT):
            if partition in before[name]:
                made[name][partition] = min(before[name][partition], end)
    for name, offsets in made.items():
        OffsetCheckpoint(disk, log_dir, name).write(offsets)
