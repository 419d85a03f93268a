"""Producer state against a model that keeps every batch ever appended."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from protocol.records.batch import RecordBatch
from storage.log.results import Origin
from storage.producer.state import ProducerState
from storage.segment.recovery import replay_batch
from tests.support.fault_disk import FaultDisk
from tests.support.record_batches import batch_at, marker_at

TP = TopicPartition("t", 0)
FOREVER = 1 << 60


class Attempt(NamedTuple):
    """One batch or marker that a producer tries to append."""

    producer_id: int
    epoch: int
    sequence: int
    records: int
    transactional: bool
    marker: str


ATTEMPTS = st.lists(
    st.builds(
        Attempt,
        st.integers(1, 3),
        st.integers(0, 2),
        st.integers(0, 6),
        st.integers(1, 3),
        st.booleans(),
        st.sampled_from(["", "", "", "commit", "abort"]),
    ),
    max_size=40,
)


class Producer:
    """All a producer wrote: the rules are written out over the whole history."""

    def __init__(self) -> None:
        self.epoch = -1
        self.sequences: list[tuple[int, int]] = []
        self.transaction: int | None = None

    def expected(self, attempt: Attempt) -> ErrorCode | str:
        if attempt.marker:
            return "append" if attempt.epoch >= self.epoch else ErrorCode.INVALID_PRODUCER_EPOCH
        span = (attempt.sequence, attempt.sequence + attempt.records - 1)
        if attempt.epoch == self.epoch and span in self.sequences[-5:]:
            return "duplicate"
        if attempt.epoch < self.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if self.epoch >= 0:
            last = self.sequences[-1][1] if self.sequences else -1
            wanted = last + 1 if attempt.epoch == self.epoch else 0
            if attempt.sequence != wanted:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if self.transaction is not None and not attempt.transactional:
            return ErrorCode.INVALID_TXN_STATE
        return "append"

    def took(self, attempt: Attempt, offset: int) -> None:
        if attempt.epoch != self.epoch:
            self.epoch, self.sequences = attempt.epoch, []
        if attempt.marker:
            self.transaction = None
            return
        self.sequences.append((attempt.sequence, attempt.sequence + attempt.records - 1))
        if attempt.transactional and self.transaction is None:
            self.transaction = offset


def build(attempt: Attempt, offset: int) -> RecordBatch:
    if attempt.marker:
        return marker_at(
            offset,
            producer_id=attempt.producer_id,
            producer_epoch=attempt.epoch,
            commit=attempt.marker == "commit",
        )
    return batch_at(
        offset,
        attempt.records,
        producer_id=attempt.producer_id,
        producer_epoch=attempt.epoch,
        base_sequence=attempt.sequence,
        is_transactional=attempt.transactional,
    )


def try_append(state: ProducerState, attempt: Attempt, batch: RecordBatch) -> ErrorCode | str:
    if not attempt.marker and state.duplicate_of(batch) is not None:
        return "duplicate"
    origin = Origin.COORDINATOR if attempt.marker else Origin.CLIENT
    try:
        update = state.check(batch, origin)
    except KafkaError as error:
        return error.code
    state.apply(update)
    state.map_end_offset = batch.next_offset
    if update.completed is not None:
        state.complete_transaction(update.completed)
    return "append"


def facts(state: ProducerState, batches: int) -> object:
    return (
        state.first_undecided_offset,
        {
            entry.producer_id: (
                entry.producer_epoch,
                entry.batches[-batches:],
                entry.coordinator_epoch,
                entry.last_timestamp,
                entry.transaction_first_offset,
            )
            for entry in state.entries()
        },
    )


@given(ATTEMPTS, st.integers(0, 40))
def test_every_answer_is_the_model_s_and_replay_agrees(
    attempts: list[Attempt], snapshot_at: int
) -> None:
    disk = FaultDisk()
    disk.mkdir("/d")
    state = ProducerState(disk, "/d", TP)
    producers = {number: Producer() for number in (1, 2, 3)}
    log: list[RecordBatch] = []
    for number, attempt in enumerate(attempts):
        batch = build(attempt, state.map_end_offset)
        producer = producers[attempt.producer_id]
        expected = producer.expected(attempt)
        assert try_append(state, attempt, batch) == expected
        if expected == "append":
            producer.took(attempt, batch.base_offset)
            log.append(batch)
        open_offsets = [p.transaction for p in producers.values() if p.transaction is not None]
        assert state.first_undecided_offset == min(open_offsets, default=None)
        if number == snapshot_at:
            state.take_snapshot(sync=False)
    replayed = ProducerState(disk, "/d", TP)
    for batch in log:
        replay_batch(replayed, batch)
    assert facts(replayed, 5) == facts(state, 5)
    loaded = ProducerState(disk, "/d", TP, state.snapshot_offsets)
    loaded.truncate_and_reload(0, state.map_end_offset or -1, 0, FOREVER)
    for batch in log:
        if batch.base_offset >= loaded.map_end_offset:
            replay_batch(loaded, batch)
    assert facts(loaded, 1) == facts(state, 1)
