"""A log harness with a cleaner, its steps run in line, and keyed records to clean."""

from collections.abc import Iterable, Sequence
from functools import partial

from config.topic_config import LogConfig
from protocol.records.batch import RecordBatch, iterate_batches
from protocol.records.builder import BatchFields, build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record
from runtime.disk import Disk
from storage.cleaner.log_cleaner import CleanerSettings, LogCleaner
from storage.cleaner.running import CleaningRunner, InLineRunner
from storage.filenames import LOG
from storage.jobs import Job
from storage.log.results import Origin
from storage.log_jobs import CLEANER_OFFSETS
from tests.support.log_harness import LOG_DIR, LogHarness

COMPACTED = LogConfig(
    segment_bytes=400,
    index_interval_bytes=100,
    segment_index_bytes=1024,
    compact=True,
    delete=False,
    file_delete_delay_ms=0,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1000,
)

Pair = tuple[bytes | None, bytes | None]


class LiveCleanerSettings:
    """log.cleaner.* as a test may change them."""

    def __init__(self) -> None:
        self.threads = 1
        self.dedupe_buffer_bytes = 1 << 20
        self.load_factor = 0.9
        self.io_buffer_bytes = 1 << 13
        self.io_max_bytes_per_second = 1e300
        self.backoff_ms = 1000

    def live(self, *, enabled: bool = True) -> CleanerSettings:
        """As the cleaner takes them."""
        return CleanerSettings(
            enabled,
            lambda: self.threads,
            lambda: self.dedupe_buffer_bytes,
            lambda: self.load_factor,
            lambda: self.io_buffer_bytes,
            lambda: self.io_max_bytes_per_second,
            lambda: self.backoff_ms,
        )


class CleaningHarness(LogHarness):
    """One compacted log, and a cleaner that is run by hand."""

    def __init__(
        self,
        disk: Disk,
        config: LogConfig = COMPACTED,
        log_dir: str = LOG_DIR,
        runner: CleaningRunner | None = None,
    ) -> None:
        super().__init__(disk, config, log_dir)
        self.settings = LiveCleanerSettings()
        self.cleaner = LogCleaner(
            self.manager,
            self.settings.live(),
            runner or InLineRunner(disk),
            partial(self.jobs.plan_checkpoint, CLEANER_OFFSETS),
        )

    def put(self, pairs: Iterable[Pair], codec: int = 0, **fields: int) -> int:
        """Append one batch of keys and values, and let it be replicated; its base offset."""
        records = [Record(0, self.now_ms, key, value, []) for key, value in pairs]
        wanted: BatchFields = fields  # type: ignore[assignment] # names as build_batch has them
        return self._append(build_batch(records, codec=codec, **wanted))

    def end_transaction(self, producer_id: int, *, commit: bool) -> int:
        """Append the marker that ends a producer's transaction; its offset."""
        marker = build_end_transaction_marker(
            EndTransactionMarker(commit, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=self.now_ms,
        )
        return self._append(marker, Origin.COORDINATOR)

    def _append(self, data: bytearray, origin: Origin = Origin.CLIENT) -> int:
        result = self.log.append_as_leader(memoryview(data), 0, self.now_ms, origin=origin)
        self.run(result.jobs)
        self.log.update_high_watermark(self.log.log_end_offset)
        return result.base_offset

    def roll(self) -> None:
        """Seal the active segment."""
        self.run(self.log.roll(self.now_ms))

    def clean(self) -> None:
        """Survey and clean until nothing is due."""
        self.run([Job("clean", 0, self.cleaner.plan)])

    def batches(self) -> list[RecordBatch]:
        """All batches in the files of the log, in order."""
        found: list[RecordBatch] = []
        for segment in self.log.segments:
            found += iterate_batches(self.disk.read_file(segment.path(LOG)))
        return found

    def pairs(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """(offset, key, value) of every record of data in the files."""
        return [
            (record.offset, record.key, record.value)
            for batch in self.batches()
            if not batch.is_control
            for record in batch.records()
        ]

    def bases(self) -> Sequence[int]:
        """Base offsets of the segments."""
        return [segment.base_offset for segment in self.log.segments]
