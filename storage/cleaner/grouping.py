"""Which segments are rewritten into one, so that what compaction shrinks does not stay scattered.

A group fits one segment by what its members hold now: bytes, index entries, and offsets within
2^31. It has at most MOST_SEGMENTS members, since all of them are renamed in one step on the loop;
a log of many small segments needs another round to become one of few large ones.
Source: Cleaner.groupSegmentsBySize (4.3).
"""

from collections.abc import Sequence
from typing import NamedTuple

from storage.cleaner.order import Source
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET

MOST_SEGMENTS = 8


class IndexBytes(NamedTuple):
    """Lengths of a segment's offset and time index files."""

    offset_index: int
    time_index: int


class GroupLimits(NamedTuple):
    """segment.bytes and segment.index.bytes."""

    segment_bytes: int
    index_bytes: int


def group_segments(
    sources: Sequence[Source], indexes: Sequence[IndexBytes], limits: GroupLimits
) -> list[list[Source]]:
    """The sources in their order, cut into groups; one that is too large is a group by itself."""
    groups: list[list[Source]] = []
    size = offset_index = time_index = 0
    for source, index in zip(sources, indexes, strict=True):
        size += source.size
        offset_index += index.offset_index
        time_index += index.time_index
        if (
            groups
            and len(groups[-1]) < MOST_SEGMENTS
            and size <= limits.segment_bytes
            and max(offset_index, time_index) <= limits.index_bytes
            and (
                not source.size
                or source.end_offset - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET
            )
        ):
            groups[-1].append(source)
        else:
            groups.append([source])
            size, (offset_index, time_index) = source.size, index
    return groups
