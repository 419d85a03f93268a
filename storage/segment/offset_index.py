"""`.index`: where in the log an offset is.

```text
0  relativeOffset  u31   last offset of a batch, minus the segment's base offset
4  position        i32   where that batch starts in the .log file
```
Sparse: one entry for every index.interval.bytes or more. A reader takes the greatest entry at or
below its offset and walks batch headers from there.
Source: OffsetIndex.java (4.3).
"""

from struct import Struct

from storage.errors import CorruptFileError, InvalidIndexOffsetError
from storage.segment.sparse_index import MAX_RELATIVE_OFFSET, SparseIndex

_RELATIVE_OFFSET, _POSITION = 0, 1


class OffsetIndex(SparseIndex):
    """Offsets to positions, both strictly growing."""

    __slots__ = ()

    layout = Struct(">ii")
    offset_field = _RELATIVE_OFFSET

    @property
    def last_offset(self) -> int:
        """Offset of the last entry; the base offset without one."""
        last = self.raw_last()
        return self.base_offset if last is None else self.base_offset + last[0]

    @property
    def is_full(self) -> bool:
        """Whether the next entry has no room: the segment must be rolled before."""
        return self.count >= self.max_entries

    def entry(self, slot: int) -> tuple[int, int]:
        """(offset, position) in a slot."""
        relative_offset, position = self.raw_entry(slot)
        return self.base_offset + relative_offset, position

    def append(self, offset: int, position: int) -> None:
        """Add an entry; InvalidIndexOffsetError unless the offset is beyond the last one."""
        relative_offset = offset - self.base_offset
        if not 0 <= relative_offset <= MAX_RELATIVE_OFFSET:
            raise InvalidIndexOffsetError(
                f"offset {offset} cannot be relative to {self.base_offset} in {self.path}"
            )
        if self.count and offset <= self.last_offset:
            raise InvalidIndexOffsetError(
                f"offset {offset} is not beyond the last one, {self.last_offset}, of {self.path}"
            )
        if self.is_full:
            raise InvalidIndexOffsetError(f"{self.path} is full with {self.count} entries")
        self.add(relative_offset, position)

    def lookup(self, offset: int, *, private: bool = False) -> tuple[int, int]:
        """(offset, position) of the greatest entry at or below; (base offset, 0) without one."""
        _, relative_offset, position = self.floor(
            offset - self.base_offset, _RELATIVE_OFFSET, private=private
        )
        return self.base_offset + relative_offset, position

    def first_at_or_after_position(self, position: int) -> int | None:
        """Offset of the first entry whose batch starts at or after a position."""
        slot = self.floor(position - 1, _POSITION)[0] + 1
        return self.entry(slot)[0] if slot < self.count else None

    def check_within(self, log_size: int) -> None:
        """CorruptFileError if the last entry points beyond a `.log` of this size."""
        last = self.raw_last()
        if last is not None and not 0 <= last[1] < log_size:
            raise CorruptFileError(
                self.path, f"position {last[1]} lies outside the {log_size} bytes of the log"
            )

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or after an offset."""
        slot, _, _ = self.floor(offset - 1 - self.base_offset, _RELATIVE_OFFSET)
        self.keep_first(slot + 1)
