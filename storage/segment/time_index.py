"""`.timeindex`: up to which offset all timestamps are at or below a time.

```text
0  timestamp       i64   greatest timestamp of the segment so far
8  relativeOffset  i32   last offset of the batch that has it, minus the segment's base offset
```
Timestamps grow strictly. The last slot is kept free for the entry that closing the segment adds,
so that a closed segment's last entry always has its greatest timestamp.
Source: TimeIndex.java (4.3), KIP-33.
"""

from struct import Struct

from storage.errors import InvalidIndexOffsetError
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET, SparseIndex

_TIMESTAMP, _RELATIVE_OFFSET = 0, 1
NO_TIMESTAMP = -1


class TimeIndex(SparseIndex):
    """Timestamps to offsets."""

    __slots__ = ()

    layout = Struct(">qi")
    offset_field = _RELATIVE_OFFSET

    @property
    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) without one."""
        last = self.raw_last()
        if last is None:
            return NO_TIMESTAMP, self.base_offset
        return last[0], self.base_offset + last[1]

    @property
    def is_full(self) -> bool:
        """Whether only the slot for closing is left: the segment must be rolled."""
        return self.count >= self.max_entries - 1

    def entry(self, slot: int) -> tuple[int, int]:
        """(timestamp, offset) in a slot."""
        timestamp, relative_offset = self.raw_entry(slot)
        return timestamp, self.base_offset + relative_offset

    def maybe_append(self, timestamp: int, offset: int, *, closing: bool = False) -> None:
        """Add an entry if the timestamp is beyond the last one; closing may use the last slot.

        InvalidIndexOffsetError when offset or timestamp go backwards, or without room.
        """
        last_timestamp, last_offset = self.last_entry
        count = self.count
        if not closing and self.is_full:
            raise InvalidIndexOffsetError(f"{self.path} is full with {count} entries")
        if count and offset < last_offset:
            raise InvalidIndexOffsetError(
                f"offset {offset} is below the last one, {last_offset}, of {self.path}"
            )
        if count and timestamp < last_timestamp:
            raise InvalidIndexOffsetError(
                f"timestamp {timestamp} is below the last one, {last_timestamp}, of {self.path}"
            )
        if timestamp <= last_timestamp:
            return
        relative_offset = offset - self.base_offset
        if not 0 <= relative_offset <= MAX_RELATIVE_OFFSET:
            raise InvalidIndexOffsetError(
                f"offset {offset} cannot be relative to {self.base_offset} in {self.path}"
            )
        self.add(timestamp, relative_offset)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """(timestamp, offset) of the greatest entry at or below; (-1, base offset) without one."""
        slot, found, relative_offset = self.floor(timestamp, _TIMESTAMP)
        return (NO_TIMESTAMP if slot < 0 else found), self.base_offset + relative_offset

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or after an offset."""
        slot, _, _ = self.floor(offset - 1 - self.base_offset, _RELATIVE_OFFSET)
        self.keep_first(slot + 1)
