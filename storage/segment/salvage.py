"""Walks over a `.log` file that may be damaged anywhere: what is whole and right, and what is not.

A reader stops at the first wrong byte; an audit and a repair go on behind it. Where a batch is
wrong, its own length tells where the next one begins, if a right one begins there. If not, the
length is what was damaged, and the next right batch is searched for byte by byte: one of format 2
whose base offset fits the segment, whose length fits the file and whose checksum is right. Records
cannot pass for one by chance; a producer may put a whole batch in a record, and that could: so
bytes inside a batch that is itself right are never searched.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, RecordBatch
from protocol.records.errors import CorruptBatch
from storage.segment.batch_scan import BatchHeader, Read, check, read_header, scan_whole
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET

_CHUNK = 1 << 20
_PREFIX = Struct(">qi")
_MAGIC_POSITION = 16
_MAGIC_BYTE = bytes((MAGIC,))


class Sound(NamedTuple):
    """A whole batch with the right checksum; `batch` is None for an entry of format 0 or 1."""

    header: BatchHeader
    view: memoryview
    batch: RecordBatch | None


class Damaged(NamedTuple):
    """Bytes that are no batch; `offset` is what stands where its base offset would, if one can."""

    position: int
    size: int
    offset: int | None
    reason: str


def salvage(read: Read, length: int, base_offset: int) -> Iterator[Sound | Damaged]:
    """Everything in the first `length` bytes of a segment, in order and without a gap.

    Views stay valid as long as they are held. Offsets are not compared with each other.
    """
    position = 0
    while position < length:
        reason = None
        try:
            for header, view in scan_whole(read, position, length):
                reason = _fault(header, view)
                if reason is not None:
                    break
                yield Sound(header, view, _as_batch(header, view))
                position = header.position + header.size
        except CorruptBatch as error:
            reason = error.message
        if position >= length:
            return
        found = _next_sound(read, position, length, base_offset)
        if reason is None:
            reason = "the last batch is incomplete" if found == length else "the batch is too long"
        yield Damaged(
            position, found - position, _likely_offset(read, position, base_offset), reason
        )
        position = found


def _fault(header: BatchHeader, view: memoryview) -> str | None:
    try:
        check(header, view)
    except CorruptBatch as error:
        return error.message
    return None


def _as_batch(header: BatchHeader, view: memoryview) -> RecordBatch | None:
    return RecordBatch(view, 0, len(view)) if header.magic == MAGIC else None


def _likely_offset(read: Read, position: int, base_offset: int) -> int | None:
    data = read(_PREFIX.size, position)
    if len(data) < _PREFIX.size:
        return None
    offset = int(_PREFIX.unpack(data)[0])
    return offset if 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET else None


def _next_sound(read: Read, position: int, length: int, base_offset: int) -> int:
    """Where the next right batch begins behind the wrong one at a position; `length` for none."""
    header = _header_at(read, position)
    if header is not None:
        following = position + header.size
        if following == length or _is_sound(read, following, length, base_offset):
            return following
    at = position + 1
    while at + HEADER_SIZE <= length:
        chunk = read(_CHUNK, at)
        here = chunk.find(_MAGIC_BYTE, _MAGIC_POSITION)
        while here >= 0:
            start = here - _MAGIC_POSITION
            if _may_begin(chunk, start, length - at - start, base_offset) and _is_sound(
                read, at + start, length, base_offset
            ):
                return at + start
            here = chunk.find(_MAGIC_BYTE, here + 1)
        if len(chunk) < _CHUNK:
            return length
        at += len(chunk) - _MAGIC_POSITION
    return length


def _may_begin(chunk: bytes, start: int, left: int, base_offset: int) -> bool:
    offset, size = _PREFIX.unpack_from(chunk, start)
    fits = HEADER_SIZE <= size + LOG_OVERHEAD <= left
    return bool(fits and 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET)


def _header_at(read: Read, position: int) -> BatchHeader | None:
    try:
        return read_header(read(HEADER_SIZE, position), 0, position)
    except CorruptBatch:
        return None


def _is_sound(read: Read, position: int, length: int, base_offset: int) -> bool:
    header = _header_at(read, position)
    if header is None or position + header.size > length:
        return False
    if not 0 <= header.base_offset - base_offset <= MAX_RELATIVE_OFFSET:
        return False
    view = memoryview(read(header.size, position))
    return len(view) == header.size and _fault(header, view) is None
