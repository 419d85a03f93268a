"""Questions about offsets that clients ask with ListOffsets.

    by time      the first record at or after a timestamp, in the first segment that reaches it
    by maximum   the first record that has the greatest timestamp of the log

What segment to look into is decided in memory, on the loop; looking into it may take a worker. So
a search goes segment by segment: `search_from` plans the next one, whoever asks runs it there or
here, and asks on from the segment after it if that one had nothing.
Source: UnifiedLog.fetchOffsetByTimestamp, KIP-79, KIP-734.
"""

from typing import TYPE_CHECKING

from storage.segment.time_search import FoundByTime, TimeSearch

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

ALL = -1


class LogTimeSearch:
    """The search in one segment of a log; what it found counts as long as `is_valid`."""

    __slots__ = ("_generation", "_log", "_search", "base_offset", "found", "timestamp")

    def __init__(self, log: "PartitionLog", base_offset: int, search: TimeSearch) -> None:
        self._log = log
        self._generation = log.generation
        self._search = search
        self.base_offset = base_offset
        self.timestamp = search.timestamp
        self.found: FoundByTime | None = None

    def run_at_once(self) -> None:
        """Search; TooFar where that would be long for the loop."""
        self.found = self._search.run_at_once()

    def take_along(self) -> None:
        """Be ready for another thread; on the loop."""
        self._search.take_along()

    def run(self) -> None:
        """Search, after `take_along`; in any thread."""
        self.found = self._search.run()

    def release(self) -> None:
        """Let the file go; on the loop, also while another thread runs the search."""
        self._search.release()

    @property
    def disturbed(self) -> bool:
        """Whether the log was cut or taken away since: what the search met says nothing."""
        return self._log.generation != self._generation

    def is_valid(self, log: "PartitionLog") -> bool:
        """Whether this is still the log that was searched, and the record in it."""
        return (
            log is self._log
            and not self.disturbed
            and (self.found is None or self.found[1] >= log.log_start_offset)
        )


def search_from(
    log: "PartitionLog", timestamp: int, after_base_offset: int = ALL
) -> LogTimeSearch | None:
    """The search in the next segment that may have a record at or after the timestamp."""
    segment = log.segments.reaching(timestamp, after_base_offset)
    if segment is None:
        return None
    search = segment.plan_time_search(timestamp, log.log_start_offset)
    return LogTimeSearch(log, segment.base_offset, search)


def greatest_timestamp(log: "PartitionLog") -> int:
    """The greatest timestamp of a record, negative in a log without timestamps."""
    return max(segment.max_timestamp_so_far for segment in log.segments)
