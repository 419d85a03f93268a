"""The epoch cache against the plainest model: which epoch wrote each offset."""

from hypothesis import given
from hypothesis import strategies as st

from storage.epochs import LeaderEpochCache
from tests.support.fault_disk import FaultDisk

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("assign"), st.integers(0, 12), st.integers(0, 40)),
        st.tuples(st.just("end"), st.integers(-1, 40), st.just(0)),
        st.tuples(st.just("start"), st.integers(-1, 40), st.just(0)),
        st.tuples(st.just("reload"), st.just(0), st.just(0)),
    ),
    max_size=30,
)


class Model:
    """Kafka's TreeMap from epoch to start offset, by definition rather than by search."""

    def __init__(self) -> None:
        self.starts: dict[int, int] = {}

    def assign(self, epoch: int, start: int) -> None:
        if self.starts and epoch == max(self.starts) and start >= self.starts[epoch]:
            return
        for known in sorted(self.starts, reverse=True):
            if known < epoch and self.starts[known] < start:
                break
            del self.starts[known]
        self.starts[epoch] = start

    def end(self, offset: int) -> None:
        if offset >= 0:
            self.starts = {e: s for e, s in self.starts.items() if s < offset}

    def start(self, offset: int) -> None:
        before = [epoch for epoch, start in self.starts.items() if start <= offset]
        if offset >= 0 and before:
            last = max(before)
            self.starts = {e: max(s, offset) for e, s in self.starts.items() if e >= last}

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        if not self.starts or epoch == -1 or epoch > max(self.starts):
            return -1, -1
        if epoch == max(self.starts):
            return epoch, log_end
        floor = max((known for known in self.starts if known <= epoch), default=epoch)
        return floor, self.starts[min(known for known in self.starts if known > epoch)]


@given(OPERATIONS)
def test_every_answer_is_the_model_s(operations: list[tuple[str, int, int]]) -> None:
    disk = FaultDisk()
    cache = LeaderEpochCache(disk, "/")
    model = Model()
    for name, first, second in operations:
        if name == "assign":
            cache.assign(first, second)
            model.assign(first, second)
        elif name == "end":
            cache.truncate_from_end(first)
            model.end(first)
        elif name == "start":
            cache.truncate_from_start(first)
            model.start(first)
        else:
            cache.write()
            cache = LeaderEpochCache(disk, "/")
            cache.load()
        assert cache.entries() == sorted(model.starts.items())
        for epoch in range(-1, 14):
            assert cache.end_offset_for(epoch, 99) == model.end_offset_for(epoch, 99)
        for offset in range(0, 42, 3):
            written_by = [e for e, s in model.starts.items() if s <= offset]
            assert cache.epoch_for_offset(offset) == max(written_by, default=-1)
