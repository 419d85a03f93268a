"""One partition's log: what is appended, read, cut, rolled and given up, in Kafka's order.

    log start offset ≤ last stable offset ≤ high watermark ≤ log end offset
    first segment's base ≤ log start offset        recovery point ≤ log end offset

Everything below the recovery point is durable. All offsets named end, mark, point or bound are
exclusive: the offset that comes next. The owner is the loop thread; no call suspends. The first
dirty offset is where the last cleaning ended, -1 if there was none.

    append   validator -> place (offsets, epoch) -> roll? -> producers -> write -> producers, LSO
    read     bound by position -> segment -> slice of the file

`generation` counts what invalidates work planned before: truncation, deletion, rename, failure.
Source: UnifiedLog.scala, LocalLog.scala (3.9, 4.3).
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from runtime.disk import Disk
from storage.errors import StorageError
from storage.jobs import NO_JOBS, Job, Work
from storage.log import appending, deletion, offsets, reading, truncation
from storage.log.environment import LogEnvironment, LogIdentity
from storage.log.flushing import Flusher
from storage.log.recovery import LoadedLog, segment_settings
from storage.log.results import (
    AppendResult,
    Origin,
    ReadBound,
    ReadResult,
    TimestampOffset,
)
from storage.log.segments import Segments
from storage.log.validator import Prepared, Rules, prepare
from storage.producer.entry import ProducerEntry
from storage.producer.state import ALL_SLOTS
from storage.producer.verification import NO_TERMS, TransactionTerms, Verification
from storage.segment.file_set import SegmentFiles
from storage.segment.rolling import RollLimits
from storage.segment.segment import Segment

logger = logging.getLogger(__name__)

CLIENT: Final = Origin.CLIENT


class PartitionLog:
    """See the module. Made by `LogManager`."""

    __slots__ = (
        "_rules",
        "bound_places",
        "config",
        "directory",
        "disk",
        "environment",
        "epochs",
        "first_dirty_offset",
        "flush_messages",
        "flushed_end_offset",
        "flusher",
        "generation",
        "high_watermark",
        "log_dir",
        "log_end_offset",
        "log_start_offset",
        "offline",
        "producers",
        "recovery_point",
        "roll_limits",
        "segments",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        disk: Disk,
        identity: LogIdentity,
        config: LogConfig,
        environment: LogEnvironment,
        loaded: LoadedLog,
        now_ms: int,
    ) -> None:
        self.topic_partition: TopicPartition
        self.topic_partition, self.topic_id, self.directory, self.log_dir = identity
        self.disk = disk
        self.environment = environment
        self.generation = 0
        self.offline = False
        self.segments: Segments = loaded.segments
        self.epochs = loaded.epochs
        self.producers = loaded.producers
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        self.flushed_end_offset = loaded.recovery_point
        self.high_watermark = loaded.high_watermark
        self.first_dirty_offset = -1
        self.bound_places: list[reading.Place | None] = [None, None, None]
        self.flusher = Flusher(self, now_ms, is_new=loaded.is_new, snapshots=loaded.snapshots)
        self.update_config(config)

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.topic_partition}, {self.log_start_offset}.."
            f"{self.log_end_offset}, high_watermark={self.high_watermark})"
        )

    # Facts.

    @property
    def prefix(self) -> str:
        """How log lines about this log begin."""
        return f"[Log partition={self.topic_partition}, dir={self.log_dir}]"

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return self.segments.size

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return len(self.segments)

    @property
    def producer_count(self) -> int:
        """Number of producers remembered."""
        return len(self.producers)

    @property
    def latest_epoch(self) -> int:
        """Leader epoch of the newest records, or assigned for the next ones; -1 without any."""
        return self.epochs.latest_epoch

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed ends: the high watermark, or an open transaction before it.

        Never below the log start, which may have passed the beginning of a transaction.
        """
        unstable = self.producers.first_unstable_offset
        mark = self.high_watermark
        if unstable is None or unstable >= mark:
            return mark
        return max(unstable, self.log_start_offset)

    # Appending.

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: Origin = CLIENT,
        on_loop: bool = False,
        terms: TransactionTerms = NO_TERMS,
    ) -> AppendResult:
        """Validate one batch, give it offsets and write it; the buffer is patched, and not kept.

        KafkaError and InvalidRecords as `validator.prepare` and the producer checks say; with
        `on_loop` NeedsWorker where the batch unfolds to too much: then prepare it in a worker.
        """
        prepared = prepare(records, self._rules, now_ms, origin, on_loop=on_loop)
        return self.append_prepared(prepared, leader_epoch, now_ms, terms)

    def prepare(
        self, records: memoryview, now_ms: int, origin: Origin = CLIENT
    ) -> "Callable[[], Prepared]":
        """The validation of a batch as a function that any thread may run."""
        rules = self._rules
        return lambda: prepare(records, rules, now_ms, origin)

    def append_prepared(
        self,
        prepared: Prepared,
        leader_epoch: int,
        now_ms: int,
        terms: TransactionTerms = NO_TERMS,
    ) -> AppendResult:
        """Give a validated batch offsets and write it.

        What leadership and validation said when it was prepared must still hold: the caller looks
        again after a worker ran. A batch seen before is answered with its old offsets.
        """
        if self.offline:
            raise self._is_offline()
        batch = prepared.batch
        base_offset = self.log_end_offset
        last_offset = base_offset + batch.last_offset_delta
        batch.assign(base_offset, leader_epoch)
        if leader_epoch != self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, base_offset)
        size = batch.size
        max_timestamp = batch.max_timestamp
        jobs: Sequence[Job] = NO_JOBS
        segment = self.segments.active
        if segment.should_roll(size, max_timestamp, last_offset, now_ms, self.roll_limits):
            if batch.producer_id >= 0:
                appending.check_before_roll(self, batch, prepared.origin, terms)
            jobs = self.roll(now_ms, base_offset)
            segment = self.segments.active
        result = AppendResult(
            base_offset,
            last_offset,
            prepared.log_append_time_ms,
            self.log_start_offset,
            batch.record_count,
            size,
        )
        if batch.producer_id < 0:
            segment.append(batch.view, last_offset, max_timestamp, last_offset)
            self.log_end_offset = last_offset + 1
        else:
            appending.append_of_producer(self, segment, batch, prepared.origin, result, terms)
        if last_offset - self.flushed_end_offset >= self.flush_messages:
            jobs = (*jobs, *self.flusher.want(self.log_end_offset))
        if jobs:
            result.jobs = jobs
        return result

    def start_verification(self, producer_id: int, asked: Verification) -> Verification | None:
        """What an append has to present once the coordinator confirmed the transaction.

        None where one of that epoch is open here: then nobody has to be asked.
        """
        return self.producers.start_verification(producer_id, asked)

    def append_as_follower(self, records: memoryview, now_ms: int) -> AppendResult | None:
        """Write whole batches as the leader gave them; None where there is none.

        See `appending.append_as_follower`.
        """
        if self.offline:
            raise self._is_offline()
        return appending.append_as_follower(self, records, now_ms)

    # Reading.

    def read(
        self, offset: int, max_bytes: int, bound: ReadBound, min_one_message: bool
    ) -> ReadResult:
        """Records from the batch that contains `offset` up to the bound; see `reading.read`."""
        return reading.read(self, offset, max_bytes, bound, min_one_message)

    def estimate_bytes(
        self, offset: int, bound: ReadBound, at: tuple[int, int] | None = None
    ) -> int:
        """Bytes a read would find now, for whoever waits for some; huge where segments lie between.

        `at` = (segment base offset, position) of an earlier read of that offset spares a look-up.
        """
        return reading.estimate_bytes(self, offset, bound, at)

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record with a timestamp ≥ this one, at or after the log start; None if none."""
        search = offsets.search_from(self, timestamp)
        while search is not None:
            search.take_along()
            search.run()
            if search.found is not None:
                return TimestampOffset(*search.found)
            search = offsets.search_from(self, timestamp, search.base_offset)
        return None

    def max_timestamp_offset(self) -> TimestampOffset | None:
        """The first record with the greatest timestamp; None without timestamps."""
        greatest = offsets.greatest_timestamp(self)
        return None if greatest < 0 else self.offset_for_timestamp(greatest)

    # Epochs.

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """This leader epoch writes from `start_offset` on."""
        self.epochs.assign(epoch, start_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch ≤ this one; (-1, -1) where none is known."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    # Offsets that move.

    def update_high_watermark(self, offset: int) -> bool:
        """Set the high watermark, held within the log; whether it moved."""
        mark = min(max(offset, self.log_start_offset), self.log_end_offset)
        if mark == self.high_watermark:
            return False
        self.high_watermark = mark
        self.producers.on_high_watermark(mark)
        return True

    def maybe_increment_log_start_offset(self, offset: int, reason: str) -> bool:
        """Records below `offset` are gone for readers; whether that is news.

        KafkaError(OFFSET_OUT_OF_RANGE) beyond the high watermark. Segments go with the next
        retention pass.
        """
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {offset} of partition "
                f"{self.topic_partition} since it is larger than the high watermark "
                f"{self.high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.on_log_start_incremented(offset)
        logger.info("%s Incremented log start offset to %d due to %s", self.prefix, offset, reason)
        return True

    def flushed_to(self, end_offset: int) -> bool:
        """All before this offset is durable; whether that is news."""
        if end_offset <= self.recovery_point:
            return False
        self.recovery_point = end_offset
        self.flushed_end_offset = end_offset
        return True

    def ended_at(self, end_offset: int, log_start_offset: int) -> None:
        """The log was cut: what lies beyond its new end comes down to it."""
        self.log_start_offset = log_start_offset
        self.log_end_offset = end_offset
        self.epochs.truncate_from_end(end_offset)
        self.recovery_point = min(self.recovery_point, end_offset)
        self.first_dirty_offset = min(self.first_dirty_offset, end_offset)
        self.flushed_end_offset = self.recovery_point
        self.bound_places = [None, None, None]
        mark = min(max(self.high_watermark, log_start_offset), end_offset)
        self.high_watermark = mark

    # Life.

    def update_config(self, config: LogConfig) -> None:
        """Obey these settings from the next operation on; a segment keeps its index settings."""
        self.config = config
        self._rules = Rules(self.topic_partition, config)
        self.flush_messages = config.flush_messages - 1
        self._draw_roll_limits()

    def _draw_roll_limits(self) -> None:
        """Segment limits with a jitter of their own, so that logs begun together roll apart."""
        config = self.config
        segment_ms = config.segment_ms
        if config.compact:
            segment_ms = min(segment_ms, config.max_compaction_lag_ms)
        most = min(config.segment_jitter_ms, segment_ms)
        jitter_ms = self.environment.random_below(most) if most > 0 else 0
        self.roll_limits = RollLimits(config.segment_bytes, segment_ms, jitter_ms)

    def new_segment(self, base_offset: int, now_ms: int) -> Segment:
        """An empty segment in the log's directory, kept by the present settings."""
        files = SegmentFiles(self.disk, self.environment.pool)
        settings = segment_settings(self.config)
        return Segment.open(files, self.directory, base_offset, settings, now_ms, existing=False)

    def roll(self, now_ms: int, base_offset: int | None = None) -> Sequence[Job]:
        """Begin a new segment, at the log end or beyond; the job flushes all before it.

        Nothing happens where the active segment begins there already.
        """
        start_offset = self.log_end_offset if base_offset is None else base_offset
        active = self.segments.active
        if active.base_offset == start_offset:
            return NO_JOBS
        active.on_become_inactive()
        self.producers.map_end_offset = start_offset
        self.producers.plan_snapshot()
        self.segments.add(self.new_segment(start_offset, now_ms))
        self.flusher.rolled(active)
        self._draw_roll_limits()
        logger.info("%s Rolled new log segment at offset %d", self.prefix, start_offset)
        return self.flusher.want(start_offset)

    def active_producers(self) -> list[ProducerEntry]:
        """What is known of each producer, for DescribeProducers."""
        return list(self.producers.entries())

    def expire_producers(self, now_ms: int, slots: slice = ALL_SLOTS) -> int:
        """Forget producers silent for longer than producer.id.expiration.ms; how many.

        `slots` as `ProducerState.remove_expired` takes them.
        """
        expiration_ms = self.environment.producer_id_expiration_ms()
        return self.producers.remove_expired(now_ms, expiration_ms, slots)

    def flush_owed(self) -> Sequence[Job]:
        """The job for records that flush-before-ack has not flushed: what a crash left behind."""
        if self.flush_messages or self.flushed_end_offset >= self.log_end_offset:
            return NO_JOBS
        return self.flusher.want(self.log_end_offset)

    def plan_flush(self, now_ms: int) -> Work | None:
        """The work that makes all that is in the log durable; None if it is, or one is running.

        A flush asked for while one runs follows it by itself, through that work's `jobs`.
        """
        return self.flusher.plan(now_ms, self.log_end_offset)

    def delete_old_segments(
        self, now_ms: int, limit: int = deletion.MOST_SEGMENTS
    ) -> tuple[list[int], Sequence[Job]]:
        """Drop at most `limit` segments that retention does not keep; their base offsets."""
        return deletion.delete_old_segments(self, now_ms, limit)

    def truncate_to(self, offset: int, now_ms: int) -> Sequence[Job]:
        """No offset ≥ `offset` is in the log afterwards; see `truncation`."""
        return truncation.truncate_to(self, offset, now_ms)

    def truncate_fully_and_start_at(
        self, offset: int, now_ms: int, log_start_offset: int | None = None
    ) -> Sequence[Job]:
        """The log is empty and its next offset is `offset`; see `truncation`."""
        return truncation.truncate_fully_and_start_at(self, offset, now_ms, log_start_offset)

    def seal(self, now_ms: int) -> Work | None:
        """Appends are over, works have ended: write snapshot and indexes; the work syncs them."""
        self.producers.map_end_offset = self.log_end_offset
        if self.producers.plan_snapshot():
            self.flusher.names_changed()
        for segment in self.segments:
            segment.close()
        return self.flusher.plan_last(now_ms)

    def close(self) -> None:
        """No file is open afterwards; what was not flushed is left to recovery."""
        self._close_files()
        self.offline = True

    def fail(self) -> None:
        """The log directory failed, or the log is elsewhere: no file is touched again."""
        self.offline = True
        self.generation += 1
        with suppress(StorageError):
            self.flusher.give_up()
        for segment in self.segments:
            with suppress(StorageError):
                segment.close_files()

    def delete(self, directory: str) -> None:
        """The log is out of use and its directory has this name."""
        self.generation += 1
        self.offline = True
        self._close_files()
        self.disk.rename(self.directory, directory)
        self.directory = directory
        self.epochs.moved_to(directory)
        self.producers.moved_to(directory)

    def _close_files(self) -> None:
        self.flusher.give_up()
        for segment in self.segments:
            segment.close_files()

    def _is_offline(self) -> StorageError:
        return StorageError(
            self.log_dir, f"The log for partition {self.topic_partition} is offline"
        )
