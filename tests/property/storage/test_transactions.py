"""Transactions on disk against a list of batches: visibility, the last stable offset, every end.

The model knows each batch and marker, and works out from them what is open, what a reader of
committed data is shown, and where stability ends.
"""

import random
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from storage.audit import audit_log_dir
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, PARTITION, LogHarness, records
from tests.support.transactional_log import TransactionalProducer, read_committed

CONFIG = LogConfig(
    segment_bytes=600,
    index_interval_bytes=150,
    retention_bytes=1800,
    retention_ms=-1,
    file_delete_delay_ms=0,
    segment_index_bytes=1024,
)
PRODUCERS = st.sampled_from([1, 2, 3])
DIRECTORY = f"{LOG_DIR}/orders-0"
PLAIN, DATA, COMMIT, ABORT = "plain", "data", "commit", "abort"


class Batch(NamedTuple):
    """A batch of data or a marker of the model."""

    base: int
    producer_id: int
    kind: str
    values: tuple[bytes, ...]

    @property
    def end(self) -> int:
        return self.base + max(len(self.values), 1)


class Transaction(NamedTuple):
    """A transaction of the model: marker is -1 while it is open."""

    producer_id: int
    first: int
    marker: int
    aborted: bool
    batches: tuple[Batch, ...]

    def left_from(self, start: int) -> int:
        """The first of its offsets that is not deleted; the marker's, or none, without data."""
        left = [max(batch.base, start) for batch in self.batches if batch.end > start]
        return left[0] if left else 1 << 62


def transactions_of(batches: list[Batch]) -> list[Transaction]:
    """What the markers among the batches make of them."""
    open_batches: dict[int, list[Batch]] = {}
    found = []
    for batch in batches:
        if batch.kind == DATA:
            open_batches.setdefault(batch.producer_id, []).append(batch)
        elif batch.kind in (COMMIT, ABORT):
            own = open_batches.pop(batch.producer_id, None)
            if own:
                aborted = batch.kind == ABORT
                found.append(
                    Transaction(batch.producer_id, own[0].base, batch.base, aborted, tuple(own))
                )
    for producer_id, own in open_batches.items():
        found.append(Transaction(producer_id, own[0].base, -1, False, tuple(own)))
    return found


class TransactionsAgainstList(RuleBasedStateMachine):
    """`batches` is what the log should hold; `settled` are the markers that the last start may
    have taken from a snapshot, which does not tell what was not replicated when it was made.
    """

    @initialize()
    def open(self) -> None:
        self.disk = FaultDisk()
        self.harness = LogHarness(self.disk, CONFIG)
        self.batches: list[Batch] = []
        self.count = 0
        self.settled: set[int] = set()
        self.producers = {number: TransactionalProducer(number) for number in (1, 2, 3)}
        self.random = random.Random(7)

    def values(self, number: int) -> tuple[bytes, ...]:
        self.count += 1
        return tuple(b"%d-%d" % (self.count, index) for index in range(number))

    # Writing.

    @rule(producer_id=PRODUCERS, number=st.integers(1, 4), alone=st.booleans())
    def write(self, producer_id: int, number: int, alone: bool) -> None:
        values = self.values(number)
        result = self.producers[producer_id].append(self.harness, values)
        self.batches.append(Batch(result.base_offset, producer_id, DATA, values))
        self.replicate(alone)

    def replicate(self, alone: bool) -> None:
        """The high watermark of a leader without followers is its log end."""
        if alone:
            self.harness.log.update_high_watermark(self.harness.log.log_end_offset)

    @rule(number=st.integers(1, 3))
    def write_plainly(self, number: int) -> None:
        values = self.values(number)
        first, _ = self.harness.append(values, epoch=max(self.harness.log.latest_epoch, 0))
        self.batches.append(Batch(first, -1, PLAIN, values))

    @rule(producer_id=PRODUCERS, commit=st.booleans(), bump=st.booleans(), alone=st.booleans())
    def end(self, producer_id: int, commit: bool, bump: bool, alone: bool) -> None:
        result = self.producers[producer_id].end(self.harness, commit=commit, bump=bump)
        kind = COMMIT if commit else ABORT
        self.batches.append(Batch(result.base_offset, producer_id, kind, ()))
        self.replicate(alone)

    @rule(producer_id=PRODUCERS)
    def send_again(self, producer_id: int) -> None:
        log = self.harness.log
        entry = log.producers.get(producer_id)
        if entry is None or not entry.batches:
            return
        for known in entry.batches:
            data = build_batch(
                records([b"again"] * (known.offset_delta + 1), self.harness.now_ms),
                producer_id=producer_id,
                producer_epoch=entry.producer_epoch,
                base_sequence=known.first_sequence,
                is_transactional=True,
            )
            result = log.append_as_leader(
                memoryview(data), max(log.latest_epoch, 0), self.harness.now_ms
            )
            self.harness.run(result.jobs)
            assert result.duplicate
            assert (result.base_offset, result.last_offset) == (
                known.first_offset,
                known.last_offset,
            )

    # Moving.

    @rule(share=st.floats(0, 1))
    def high_watermark(self, share: float) -> None:
        log = self.harness.log
        ends = [batch.end for batch in self.batches if batch.end <= log.log_end_offset * share]
        log.update_high_watermark(max(log.high_watermark, *ends[-1:], 0))

    @rule()
    def roll(self) -> None:
        self.harness.run(self.harness.log.roll(self.harness.now_ms))

    @rule()
    def flush(self) -> None:
        self.harness.flush()

    @rule()
    def checkpoint(self) -> None:
        self.harness.checkpoint()

    @rule()
    def retain(self) -> None:
        _, jobs = self.harness.log.delete_old_segments(self.harness.now_ms)
        self.harness.run(jobs)

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        log = self.harness.log
        target = int(log.high_watermark * share)
        log.maybe_increment_log_start_offset(target, "client delete records request")

    @rule(back=st.integers(0, 20))
    def truncate(self, back: int) -> None:
        log = self.harness.log
        target = max(log.log_end_offset - back, log.log_start_offset)
        self.harness.run(log.truncate_to(target, self.harness.now_ms))
        self.harness.checkpoint()
        self.take_end()
        self.settled = {marker for marker in self.settled if marker < log.log_end_offset}

    def take_end(self) -> None:
        """The log ends where it ends, and may have forgotten what lies before its start."""
        log = self.harness.log
        start, end = log.log_start_offset, log.log_end_offset
        batches = [batch for batch in self.batches if batch.end <= end]
        for transaction in transactions_of(batches):
            entry = log.producers.get(transaction.producer_id)
            first = -1 if entry is None else entry.transaction_first_offset
            if transaction.marker < 0 and first != transaction.first:
                lost = [one for one in transaction.batches if first < 0 or one.base < first]
                assert all(one.end <= start for one in lost)
                batches = [batch for batch in batches if batch not in lost]
        self.batches = batches

    # Ends.

    @rule()
    def close_and_open(self) -> None:
        self.harness.close()
        end = self.harness.log.log_end_offset
        self.start_again(end, end)

    @rule(lose_snapshots=st.booleans(), damage=st.sampled_from(["", "lost", "torn", "foreign"]))
    def kill(self, lose_snapshots: bool, damage: str) -> None:
        end = self.harness.log.log_end_offset
        self.disk.restart()
        self.start_again(end, self.damage(lose_snapshots, damage))

    @rule(torn=st.booleans(), lose_snapshots=st.booleans())
    def cut_power(self, torn: bool, lose_snapshots: bool) -> None:
        flushed = self.harness.log.flushed_end_offset
        self.disk.power_cut(self.random if torn else None)
        self.start_again(flushed, self.damage(lose_snapshots, ""))

    def damage(self, lose_snapshots: bool, transaction_index: str) -> int:
        """Take what an unclean start has to find again from the batches; where it begins to."""
        if not self.disk.isdir(DIRECTORY):
            return 0
        names = self.disk.listdir(DIRECTORY)
        recovery_point = self.harness.directory.recovery_points.read().get(PARTITION, 0)
        bases = [int(name[:20]) for name in names if name.endswith(".log")]
        suspect = max((base for base in bases if base <= recovery_point), default=0)
        for name in names:
            path = f"{DIRECTORY}/{name}"
            if name.endswith(".snapshot") and lose_snapshots:
                self.disk.unlink(path)
            if name.endswith(".txnindex") and int(name[:20]) >= suspect and transaction_index:
                if transaction_index == "lost":
                    self.disk.unlink(path)
                else:
                    torn = self.disk.read_file(path)[:-5]
                    self.disk.write_file(path, torn if transaction_index == "torn" else b"x" * 68)
        return suspect

    def start_again(self, lost_from: int, snapshot_offset: int) -> None:
        before = self.harness.log
        self.harness = LogHarness(self.disk, CONFIG)
        log = self.harness.log
        assert log.log_end_offset >= min(lost_from, before.log_end_offset)
        self.take_end()
        self.settled = {batch.base for batch in self.batches if batch.base < snapshot_offset}

    # What must hold.

    @invariant()
    def stability_ends_where_kafka_says(self) -> None:
        log = self.harness.log
        mark, start = log.high_watermark, log.log_start_offset
        unstable = [
            one
            for one in transactions_of(self.batches)
            if one.marker < 0 or one.marker >= log.high_watermark
        ]
        known = [one for one in unstable if one.marker not in self.settled]
        # One that began with deleted records counts from the log start, or from what is left.
        least = min([mark, *(max(one.first, start) for one in unstable)])
        most = min([mark, *(one.left_from(start) for one in known)])
        begun = log.producers.first_unstable_offset
        if begun is not None and begun < start:
            # Replayed from records that were deleted, but still lie in the first segment.
            least = start
        assert start <= least <= log.last_stable_offset <= most

    @invariant()
    def readers_are_shown_the_committed_records_and_no_other(self) -> None:
        log = self.harness.log
        end = log.last_stable_offset
        aborted = {
            batch for one in transactions_of(self.batches) if one.aborted for batch in one.batches
        }
        shown = [
            (batch.base + index, value)
            for batch in self.batches
            if batch.kind in (PLAIN, DATA) and batch not in aborted and batch.end <= end
            for index, value in enumerate(batch.values)
        ]
        for offset in {log.log_start_offset, (log.log_start_offset + end) // 2, end}:
            expected = [one for one in shown if offset <= one[0]]
            assert read_committed(log, offset) == expected
            assert read_committed(log, offset, 150) == expected

    @invariant()
    def producers_are_described_as_they_are(self) -> None:
        start = self.harness.log.log_start_offset
        open_now = {
            one.producer_id: one.first
            for one in transactions_of(self.batches)
            if one.marker < 0 and one.first >= start
        }
        described = {
            entry.producer_id: entry.transaction_first_offset
            for entry in self.harness.log.active_producers()
            if entry.transaction_first_offset >= 0
        }
        for producer_id, first in open_now.items():
            # It may be known to have begun with records that were deleted since.
            assert described[producer_id] == first or described[producer_id] < start
        assert {one for one, first in described.items() if first >= start} <= open_now.keys()

    def teardown(self) -> None:
        if hasattr(self, "harness"):
            self.harness.close()
            found = audit_log_dir(self.disk, LOG_DIR)
            # After a kill the log start may be the one of the last checkpoint, which lies before
            # the first epoch that is remembered.
            assert [one for one in found if "epoch" not in one.path] == []
            assert self.disk.open_count == 0


TransactionsAgainstList.TestCase.settings = settings(
    max_examples=3 * settings().max_examples, stateful_step_count=50, deadline=None
)
TestTransactionsAgainstList = TransactionsAgainstList.TestCase
