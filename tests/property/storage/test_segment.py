"""A segment against a list of batches: append, read, truncate, reopen, crash, recover."""

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch
from storage.epochs import LeaderEpochCache
from storage.producer.state import ProducerState
from storage.segment.file_records import FilePool, FileSlice
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.recovery import recover_segment
from storage.segment.segment import Segment
from tests.support.fault_disk import FaultDisk
from tests.support.record_batches import batch_at

BASE = 50
SETTINGS = SegmentSettings(200, 1 << 12)


class SegmentMachine(RuleBasedStateMachine):
    """The model is the list of batches the segment must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = FaultDisk()
        self.disk.mkdir("/d")
        self.batches: list[RecordBatch] = []
        self.flushed = 0
        self.held: list[tuple[FileSlice, bytes]] = []
        self.pool = FilePool(1)
        self.segment = self.open(existing=False)
        self.disk.sync_all()

    def open(self, *, existing: bool) -> Segment:
        files = SegmentFiles(self.disk, self.pool)
        return Segment.open(files, "/d", BASE, SETTINGS, 0, existing=existing)

    @property
    def next_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else BASE

    @rule(gap=st.integers(0, 3), count=st.integers(1, 4), time=st.integers(-1, 50))
    def append(self, gap: int, count: int, time: int) -> None:
        batch = batch_at(self.segment.read_next_offset() + gap, count, timestamp=time)
        self.segment.append(batch.view, batch.last_offset, batch.max_timestamp, batch.last_offset)
        self.batches.append(batch)

    @rule(counts=st.lists(st.integers(1, 3), min_size=1, max_size=5), time=st.integers(0, 50))
    def append_set(self, counts: list[int], time: int) -> None:
        offset = self.segment.read_next_offset()
        batches = []
        for count in counts:
            batches.append(batch_at(offset, count, timestamp=time))
            offset += count + 1
        data = b"".join(bytes(batch.view) for batch in batches)
        self.segment.append_many(batches, memoryview(data))
        self.batches += batches

    @rule(offset=st.integers(BASE - 2, BASE + 150), max_bytes=st.integers(0, 2000))
    def read(self, offset: int, max_bytes: int) -> None:
        wanted = [batch for batch in self.batches if batch.last_offset >= offset]
        found = self.segment.read(offset, max_bytes, self.segment.size, True)
        if not wanted:
            assert found is None
            return
        assert found is not None
        file_slice, base_offset, _ = found
        data = b"".join(bytes(batch.view) for batch in wanted)
        assert base_offset == wanted[0].base_offset
        assert file_slice is not None
        assert file_slice.read() == data[: max(max_bytes, wanted[0].size)]
        self.held.append((file_slice, data[: file_slice.nbytes]))

    @rule(time=st.integers(-1, 52), start=st.integers(BASE, BASE + 150))
    def find_by_time(self, time: int, start: int) -> None:
        records = [record for batch in self.batches for record in batch.records()]
        hits = [r for r in records if r.timestamp >= time and r.offset >= start]
        found = self.segment.find_offset_by_timestamp(time, start)
        assert found == ((hits[0].timestamp, hits[0].offset, 0) if hits else None)

    @rule(offset=st.integers(BASE, BASE + 150))
    def truncate(self, offset: int) -> None:
        self.segment.truncate_to(offset)
        self.batches = [batch for batch in self.batches if batch.last_offset < offset]
        self.flushed = min(self.flushed, len(self.batches))

    @rule()
    def flush(self) -> None:
        self.segment.flush()
        self.disk.fsync_dir("/d")
        self.flushed = len(self.batches)

    @rule()
    def close_and_reopen(self) -> None:
        for file_slice, data in self.held:
            assert not file_slice.intact or file_slice.read() == data
            file_slice.release()
        self.held.clear()
        self.segment.close()
        assert self.disk.open_count == 0
        self.segment = self.open(existing=True)

    @rule(seed=st.integers(0, 5), torn=st.booleans())
    def crash_and_recover(self, seed: int, torn: bool) -> None:
        self.held.clear()
        if torn:
            self.disk.power_cut(random.Random(seed))
        else:
            self.disk.restart()
            self.flushed = len(self.batches)
        self.pool = FilePool(1)
        self.segment = self.open(existing=True)
        producers = ProducerState(self.disk, "/d", TopicPartition("t", 0))
        recover_segment(self.disk, self.segment, producers, LeaderEpochCache(self.disk, "/d"))
        kept = [batch.base_offset for batch in self.segment.scan_batches(BASE)]
        known = [batch.base_offset for batch in self.batches]
        assert len(kept) >= self.flushed
        if not torn:
            assert kept == known
        if kept[: len(known)] != known[: len(kept)] or len(kept) > len(known):
            # What a truncation had dropped came back with the power: the log cuts it again.
            self.segment.truncate_to(self.next_offset)
            kept = [batch.base_offset for batch in self.segment.scan_batches(BASE)]
        self.batches = list(self.segment.scan_batches(BASE))
        self.flushed = 0

    @invariant()
    def sizes_and_ends_agree(self) -> None:
        assert self.segment.size == sum(batch.size for batch in self.batches)
        assert self.segment.read_next_offset() >= self.next_offset
        times = [batch.max_timestamp for batch in self.batches]
        assert self.segment.max_timestamp_so_far == max(times, default=-1)
        assert self.pool.open_count <= 1

    @invariant()
    def slices_hold_what_they_were_made_of(self) -> None:
        for file_slice, data in self.held:
            assert not file_slice.intact or file_slice.read() == data
        while len(self.held) > 3:
            self.held.pop(0)[0].release()


SegmentMachine.TestCase.settings = settings(stateful_step_count=30)
TestSegment = SegmentMachine.TestCase
