"""Measuring all compacted logs: in slices, and so that what is due can be worked off afterwards."""

from storage.cleaner.selection import Dirt, LagLimits, LogFacts, measure
from storage.log.partition_log import PartitionLog


class Survey:
    """Logs that are measured slice after slice, and what is known of them so far."""

    __slots__ = ("_due", "dirtiest_ratio", "longest_overdue_ms", "now_ms", "rest")

    def __init__(self, logs: list[PartitionLog], now_ms: int) -> None:
        self.rest = logs
        self.now_ms = now_ms
        self.dirtiest_ratio = 0.0
        self.longest_overdue_ms = 0
        self._due: list[tuple[float, PartitionLog]] = []

    def take(self, count: int) -> list[PartitionLog]:
        """The next so many; they are not in `rest` any more."""
        taken = self.rest[-count:]
        del self.rest[-count:]
        return taken

    def add(self, log: PartitionLog) -> None:
        """Measure a log."""
        dirt = dirt_of(log, self.now_ms)
        self.dirtiest_ratio = max(self.dirtiest_ratio, dirt.ratio)
        self.longest_overdue_ms = max(self.longest_overdue_ms, dirt.overdue_ms)
        if dirt.is_due(log.config.min_cleanable_dirty_ratio):
            self._due.append((dirt.ratio, log))

    def due_last_first(self) -> list[PartitionLog]:
        """Those that are due, the filthiest at the end."""
        self._due.sort(key=lambda one: one[0])
        return [log for _, log in self._due]


def dirt_of(log: PartitionLog, now_ms: int) -> Dirt:
    """How dirty a log is."""
    config = log.config
    return measure(
        log.segments,
        LogFacts(
            log.first_dirty_offset,
            log.log_start_offset,
            log.log_end_offset,
            log.last_stable_offset,
        ),
        LagLimits(config.min_compaction_lag_ms, config.max_compaction_lag_ms),
        now_ms,
    )
