"""Splitting a segment whose offsets do not fit its indexes, which old brokers could write.

An index keeps offsets relative to the segment's base in 31 bits. A segment that reaches farther is
divided into several, each with a base of its own, by way of files that `storage.log.tidying`
completes or removes:

    1  parts written as .log.cleaned, fsynced, names durable     a crash: all are removed at start
    2  renamed to .log.swap, the last part first, names durable  a crash: while one .cleaned is
                                                                 left all swaps above it go too
    3  tidy(): the old segment removed, the swaps take its place a crash: done again at start

At no time is a record in none of them. The parts have no indexes; loading rebuilds these.
Source: LogLoader.retryOnOffsetOverflow, LocalLog.splitOverflowedSegment (4.3).
"""

from typing import NamedTuple

from protocol.records.errors import CorruptBatch
from runtime.disk import Disk
from storage.filenames import CLEANED, LOG, SWAP, segment_path
from storage.segment.batch_scan import scan_headers
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET

_COPY_BYTES = 1 << 20


class _Part(NamedTuple):
    """Bytes of the old `.log` from position to end_position, exclusive."""

    base_offset: int
    position: int
    end_position: int


def split_overflowed(disk: Disk, directory: str, base_offset: int) -> list[int]:
    """Divide a segment; `tidy` has to follow. The base offsets of the parts, the old one first."""
    path = segment_path(directory, base_offset, LOG)
    fd = disk.open(path, writable=False)
    try:
        parts = _parts(disk, fd, base_offset)
        for part in parts:
            _copy(disk, fd, part, segment_path(directory, part.base_offset, LOG, CLEANED))
    finally:
        disk.close(fd)
    mtime_ms = disk.mtime_ms(path)
    disk.fsync_dir(directory)
    for part in reversed(parts):
        cleaned = segment_path(directory, part.base_offset, LOG, CLEANED)
        disk.set_mtime(cleaned, mtime_ms)
        disk.replace(cleaned, segment_path(directory, part.base_offset, LOG, SWAP))
    disk.fsync_dir(directory)
    return [part.base_offset for part in parts]


def _parts(disk: Disk, fd: int, base_offset: int) -> list[_Part]:
    """Where to cut. What follows the last whole batch goes with the last part, to be judged."""
    size = disk.size(fd)
    parts: list[_Part] = []
    base, begin = base_offset, 0
    try:
        for header in scan_headers(lambda n, at: disk.pread(fd, n, at), 0, size):
            if header.last_offset - base > MAX_RELATIVE_OFFSET:
                parts.append(_Part(base, begin, header.position))
                base, begin = header.base_offset, header.position
    except CorruptBatch:
        pass
    return [*parts, _Part(base, begin, size)]


def _copy(disk: Disk, source: int, part: _Part, path: str) -> None:
    """Have the bytes of a part, durable, in a file of their own."""
    fd = disk.open(path, create=True)
    try:
        disk.truncate(fd, 0)
        for position in range(part.position, part.end_position, _COPY_BYTES):
            size = min(_COPY_BYTES, part.end_position - position)
            disk.pwrite(fd, disk.pread(source, size, position), position - part.position)
        disk.fsync(fd)
    finally:
        disk.close(fd)
