"""Any life of a compacted log against what it means: the last committed record of each key."""

import random
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from protocol.records.batch import RecordBatch
from storage.audit import audit_log_dir
from storage.cleaner.selection import NEVER_CLEANED
from storage.log.results import ReadBound
from tests.support.cleaning import COMPACTED, CleaningHarness
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR

KEYS = st.sampled_from([b"a", b"b", b"c", b"dd", b""])
VALUES = st.one_of(st.none(), st.sampled_from([b"1", b"22", b"x" * 60]))
PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)
PRODUCERS = st.sampled_from([1, 2])


class Written(NamedTuple):
    """A record as it was appended; `transaction` counts those of its producer, 0 for none."""

    key: bytes
    value: bytes | None
    producer_id: int
    transaction: int


class CompactedLog(RuleBasedStateMachine):
    """Appends, transactions, rolls, waits, cleanings with small maps, restarts of both kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = FaultDisk()
        self.harness = CleaningHarness(self.disk, COMPACTED)
        self.written: dict[int, Written] = {}
        self.aborted: set[tuple[int, int]] = set()
        self.open: dict[int, int] = {}
        self.transactions = 0

    @rule(pairs=PAIRS, codec=st.sampled_from([0, 0, 1, 4]))
    def append(self, pairs: list[tuple[bytes, bytes | None]], codec: int) -> None:
        self._wrote(self.harness.put(pairs, codec), pairs, -1, 0)

    @rule(pairs=PAIRS, producer_id=PRODUCERS)
    def append_in_transaction(
        self, pairs: list[tuple[bytes, bytes | None]], producer_id: int
    ) -> None:
        if producer_id not in self.open:
            self.transactions += 1
            self.open[producer_id] = self.transactions
        entry = self.harness.log.producers.get(producer_id)
        first = self.harness.put(
            pairs,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0 if entry is None else entry.last_sequence + 1,
            is_transactional=True,
        )
        self._wrote(first, pairs, producer_id, self.open[producer_id])

    @precondition(lambda self: self.open)
    @rule(commit=st.booleans())
    def end_transaction(self, commit: bool) -> None:
        producer_id, transaction = self.open.popitem()
        self.harness.end_transaction(producer_id, commit=commit)
        if not commit:
            self.aborted.add((producer_id, transaction))

    @rule()
    def roll(self) -> None:
        self.harness.roll()

    @rule(ms=st.sampled_from([1, 500, 2000]))
    def wait(self, ms: int) -> None:
        self.harness.now_ms += ms

    @rule(keys=st.sampled_from([6, 8, 1000]), io_bytes=st.sampled_from([1, 1 << 13]))
    def clean(self, keys: int, io_bytes: int) -> None:
        self.harness.settings.dedupe_buffer_bytes = 24 * keys
        self.harness.settings.io_buffer_bytes = io_bytes
        self.harness.clean()
        assert self.harness.cleaner.uncleanable(LOG_DIR) == set()

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        """Killed or closed: what producers may write next does not change."""
        sequences = self._sequences()
        first_dirty = self.harness.log.first_dirty_offset
        if clean:
            self.harness.close()
        else:
            self.disk.restart()
        self.harness = self._loaded()
        assert self._sequences() == sequences
        # Unknown where the checkpoint files are not believed: a log newer than all of them.
        assert self.harness.log.first_dirty_offset in (first_dirty, NEVER_CLEANED)

    @rule(seed=st.integers(0, 1 << 16))
    def lose_power_after_a_flush(self, seed: int) -> None:
        self.harness.flush()
        self.harness.checkpoint()
        sequences = self._sequences()
        self.disk.power_cut(random.Random(seed))
        self.harness = self._loaded()
        assert self._sequences() == sequences

    @invariant()
    def every_key_has_its_last_committed_record(self) -> None:
        last: dict[bytes, int] = {}
        for offset, one in self.written.items():
            if self._is_committed(one):
                last[one.key] = offset
        found = {offset: (key, value) for offset, key, value in self.harness.pairs()}
        for key, offset in last.items():
            value = self.written[offset].value
            if value is not None:
                assert found.get(offset) == (key, value)

    @invariant()
    def nothing_is_there_that_was_not_written(self) -> None:
        end_offset = self.harness.log.log_end_offset
        for offset, key, value in self.harness.pairs():
            assert offset < end_offset
            assert self.written[offset][:2] == (key, value)

    @invariant()
    def no_old_value_comes_back_after_a_tombstone(self) -> None:
        gone: dict[bytes, int] = {}
        for offset, one in self.written.items():
            if one.value is None and self._is_committed(one):
                gone[one.key] = offset
        found = {offset for offset, _, _ in self.harness.pairs()}
        for key, tombstone in gone.items():
            if tombstone not in found:
                before = [
                    offset
                    for offset in found
                    if offset < tombstone
                    and self.written[offset].key == key
                    and self._is_committed(self.written[offset])
                ]
                assert before == []

    @invariant()
    def readers_of_committed_data_see_no_aborted_record(self) -> None:
        log = self.harness.log
        offset = log.log_start_offset
        while True:
            result = log.read(offset, 1 << 20, ReadBound.LAST_STABLE, True)
            if result.slice is None:
                return
            data = result.slice.read()
            result.slice.release()
            aborted = {
                (one.producer_id, one.first_offset) for one in result.aborted_transactions or ()
            }
            offset = self._check_committed(data, aborted)

    @invariant()
    def the_directory_is_sound(self) -> None:
        errors = [one for one in audit_log_dir(self.disk, LOG_DIR) if "active" not in one.problem]
        assert errors == []

    def teardown(self) -> None:
        self.harness.log.close()
        assert self.disk.open_count == 0

    def _check_committed(self, data: bytes, aborted: set[tuple[int, int]]) -> int:
        from protocol.records.batch import iterate_batches

        offset = -1
        for batch in iterate_batches(data):
            offset = batch.next_offset
            if batch.is_control or not batch.is_transactional:
                continue
            for record in batch.records():
                one = self.written[record.offset]
                if (one.producer_id, one.transaction) in self.aborted:
                    assert self._is_reported(batch, aborted)
        return offset

    @staticmethod
    def _is_reported(batch: RecordBatch, aborted: set[tuple[int, int]]) -> bool:
        return any(
            producer_id == batch.producer_id and first <= batch.base_offset
            for producer_id, first in aborted
        )

    def _is_committed(self, one: Written) -> bool:
        if one.transaction and self.open.get(one.producer_id) == one.transaction:
            return False
        return (one.producer_id, one.transaction) not in self.aborted

    def _wrote(
        self,
        first: int,
        pairs: list[tuple[bytes, bytes | None]],
        producer_id: int,
        transaction: int,
    ) -> None:
        for index, (key, value) in enumerate(pairs):
            self.written[first + index] = Written(key, value, producer_id, transaction)

    def _sequences(self) -> dict[int, tuple[int, int, int]]:
        return {
            entry.producer_id: (
                entry.producer_epoch,
                entry.last_sequence,
                entry.transaction_first_offset,
            )
            for entry in self.harness.log.producers.entries()
        }

    def _loaded(self) -> CleaningHarness:
        now_ms = self.harness.now_ms
        harness = CleaningHarness(self.disk, COMPACTED)
        harness.now_ms = now_ms
        harness.log.update_high_watermark(harness.log.log_end_offset)
        return harness


TestCompactedLog = CompactedLog.TestCase
TestCompactedLog.settings = settings(stateful_step_count=30)
