"""Finishing what a crash interrupted in a partition directory, before its segments are opened.

    .deleted                          removed: its delay is over with the process
    .cleaned                          removed: a cleaning that was not finished
    .swap  at or above a .cleaned     removed: the cleaning that wrote it was not finished either
    .swap  else                       takes the place of all plain segments it covers
    index without a .log              removed
    .log without .index/.timeindex    reported: the segment has to be recovered

A `.swap` is a whole segment, durable before it got that name. What it covers is removed before it
takes the place, and that is durable first: a power cut between the two leaves the `.swap`, and the
next start goes on. One before the other leaves at worst files that a next start removes again.

Source: LogLoader.removeTempFilesAndCollectSwapFiles, load (3.9, 4.3).
"""

from typing import NamedTuple

from protocol.records.errors import CorruptBatch
from runtime.disk import Disk
from storage.filenames import (
    CLEANED,
    DELETED,
    LOG,
    NO_SUFFIX,
    OFFSET_INDEX,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    SegmentFileName,
    parse_segment_file_name,
    segment_file_name,
)
from storage.segment.batch_scan import scan_headers


class Tidied(NamedTuple):
    """What is left: base offsets of segments, ascending, and offsets of producer snapshots."""

    base_offsets: list[int]
    snapshots: list[int]
    unindexed: frozenset[int]


def tidy(disk: Disk, directory: str) -> Tidied:
    """Bring a partition directory into the state some finished operation left it in."""
    names: dict[str, SegmentFileName] = {}
    unfinished = False
    for name in disk.listdir(directory):
        parsed = parse_segment_file_name(name)
        if parsed is not None:
            names[name] = parsed
            unfinished = unfinished or parsed.suffix != NO_SUFFIX
    if unfinished:
        _finish_swaps(disk, directory, names)
    logs = {file.base_offset for file in names.values() if file.kind == LOG}
    for name, file in list(names.items()):
        if file.base_offset not in logs and file.kind != SNAPSHOT:
            _remove(disk, directory, names, name)
    indexed = [
        {file.base_offset for file in names.values() if file.kind == kind}
        for kind in (OFFSET_INDEX, TIME_INDEX)
    ]
    snapshots = [file.base_offset for file in names.values() if file.kind == SNAPSHOT]
    return Tidied(sorted(logs), sorted(snapshots), frozenset(logs - (indexed[0] & indexed[1])))


def _finish_swaps(disk: Disk, directory: str, names: dict[str, SegmentFileName]) -> None:
    cleaned = [file.base_offset for file in names.values() if file.suffix == CLEANED]
    first_cleaned = min(cleaned, default=None)
    for name, file in list(names.items()):
        if file.suffix in (DELETED, CLEANED) or (
            file.suffix == SWAP and first_cleaned is not None and file.base_offset >= first_cleaned
        ):
            _remove(disk, directory, names, name)
    swaps = [(name, file) for name, file in names.items() if file.suffix == SWAP]
    covered = [
        (file.base_offset, _next_offset(disk, f"{directory}/{name}", file.base_offset))
        for name, file in swaps
        if file.kind == LOG
    ]
    if covered:
        # No swap may become plain while something it replaced could come back beside it.
        first = min(base for base, _ in covered)
        end = max(max(base + 1, next_offset) for base, next_offset in covered)  # maybe empty
        for name, file in list(names.items()):
            if (
                file.suffix == NO_SUFFIX
                and file.kind != SNAPSHOT
                and first <= file.base_offset < end
            ):
                _remove(disk, directory, names, name)
        disk.fsync_dir(directory)
    for name, file in swaps:
        plain = segment_file_name(file.base_offset, file.kind)
        disk.replace(f"{directory}/{name}", f"{directory}/{plain}")
        del names[name]
        names[plain] = SegmentFileName(file.base_offset, file.kind, NO_SUFFIX)
    if swaps:
        disk.fsync_dir(directory)


def _remove(disk: Disk, directory: str, names: dict[str, SegmentFileName], name: str) -> None:
    disk.unlink(f"{directory}/{name}")
    del names[name]


def _next_offset(disk: Disk, path: str, base_offset: int) -> int:
    """The offset after the last batch of a `.log` file of whatever suffix."""
    fd = disk.open(path, writable=False)
    end = base_offset
    try:
        for header in scan_headers(
            lambda size, position: disk.pread(fd, size, position), 0, disk.size(fd)
        ):
            end = header.last_offset + 1
    except CorruptBatch:
        pass  # the loading that follows tells
    finally:
        disk.close(fd)
    return end
