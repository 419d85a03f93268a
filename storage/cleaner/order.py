"""What one cleaning of one log is told, and what it tells back: plain values, sent to a process.

LogCleaner ── CleaningOrder ──▶ Cleaning        what the loop saw when it chose the log
           ◀── Progress ─────                   after each step of bounded size
"""

from typing import NamedTuple

from storage.segment.file_set import SegmentSettings


class Source(NamedTuple):
    """A sealed segment that may be rewritten; no offset of it reaches `end_offset`."""

    base_offset: int
    end_offset: int
    size: int


class LastRecord(NamedTuple):
    """What a live producer did last: its last data offset, -1 if only markers, and its epoch."""

    last_data_offset: int
    producer_epoch: int


class CleaningOrder(NamedTuple):
    """One cleaning. `sources` are all segments below the first uncleanable offset, oldest first.

    `later_base_offsets` are the segments after them, whose aborted transactions may begin in the
    sources. `most_keys` and `slots` bound the offset map, `secret` keys its hash.
    """

    directory: str
    sources: tuple[Source, ...]
    later_base_offsets: tuple[int, ...]
    first_dirty_offset: int
    producers: dict[int, LastRecord]
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    settings: SegmentSettings
    io_bytes: int
    slots: int
    most_keys: int
    secret: bytes

    @property
    def end_offset(self) -> int:
        """The first uncleanable offset: where the last source ends."""
        return self.sources[-1].end_offset


class CleanedGroup(NamedTuple):
    """A new segment is complete and durable under `.cleaned`, to take the place of these."""

    base_offset: int
    replaced: tuple[int, ...]


class CleaningStats(NamedTuple):
    """Figures of a cleaning that is done; `end_offset` is the first offset it did not reach."""

    end_offset: int
    bytes_read: int
    bytes_written: int
    map_bytes_read: int
    messages_read: int
    messages_written: int
    map_utilization: float


class Progress(NamedTuple):
    """What a step did: bytes read and written, maybe a group to swap in, or the end."""

    moved_bytes: int
    group: CleanedGroup | None = None
    stats: CleaningStats | None = None


class Uncleanable(Exception):
    """A log that cannot be cleaned: which file is wrong, where, and how. Nothing was changed."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)
        self.path = path
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} at position {self.position}: {self.reason}"


class CleaningInterrupted(Exception):
    """The process that cleaned is gone; what it left under `.cleaned` is nobody's."""
