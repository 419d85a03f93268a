"""A log in one directory and its copy in another, both by hand: what a mover has before it.

pair = Pair()
pair.append(3)                 three batches of two records, by an idempotent producer
pair.copy()                    slices until the copy has everything
"""

from collections.abc import Iterable

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from protocol.records.builder import build_batch
from storage.future_logs import FutureLog
from storage.jobs import Job
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound
from storage.log_directory import LogDirectory
from storage.log_manager import LogManager
from storage.moving.steps import Action
from storage.moving.works import Slice, plan_slice
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, TOPIC_ID, environment, read_all, records

TP = TopicPartition("orders", 0)
CONFIG = LogConfig(
    segment_bytes=600, segment_index_bytes=1024, index_interval_bytes=100, file_delete_delay_ms=0
)


class Pair:
    """See the module."""

    def __init__(self, disk: FaultDisk | None = None, config: LogConfig = CONFIG) -> None:
        self.disk = disk or FaultDisk()
        self.config = config
        self.now_ms = START_MS
        self.batch_size = 0
        self.whole: list[tuple[int, bytes | None]] = []
        directories = [LogDirectory(self.disk, path) for path in ("/a", "/b")]
        for directory in directories:
            directory.open()
        self.manager = LogManager(directories, environment())
        self.report = self.manager.load(
            START_MS, lambda _topic: config, lambda tp: TOPIC_ID if tp == TP else None
        )
        self.current: PartitionLog = self.manager.get_or_create(
            TP, TOPIC_ID, config, START_MS, is_new=True
        )

    def begin(self) -> FutureLog:
        return self.manager.create_future(TP, "/b", self.now_ms)

    @property
    def future(self) -> FutureLog:
        found = self.manager.futures.get(TP)
        assert found is not None
        return found

    def append(self, batches: int, epoch: int = 0) -> None:
        for number in range(batches):
            known = self.current.producers.get(9)
            data = build_batch(
                records([b"%02d" % number * 20, b"x"], self.now_ms),
                producer_id=9,
                producer_epoch=0,
                base_sequence=0 if known is None else known.last_sequence + 1,
            )
            result = self.current.append_as_leader(memoryview(data), epoch, self.now_ms)
            self.run(result.jobs)
            self.batch_size = result.size
        self.current.update_high_watermark(self.current.log_end_offset)

    def run(self, jobs: Iterable[Job]) -> None:
        """Do these jobs, and what follows from them."""
        waiting = list(jobs)
        while waiting:
            for work in waiting.pop(0).plan(self.now_ms):
                work.work()
                work.commit()
                waiting += work.jobs

    def slice(self, max_bytes: int = 1 << 20, *, with_seal: bool = False) -> Slice:
        """One slice, done."""
        piece = plan_slice(self.current, self.future, max_bytes, self.now_ms, with_seal=with_seal)
        piece.on_done(lambda _: ())
        piece.work()
        piece.commit()
        return piece

    def copy(self) -> None:
        for _ in range(100):
            piece = self.slice()
            assert piece.failure is None, piece.failure
            if piece.step.action is Action.NOTHING:
                return
        raise AssertionError("the copy does not end")

    def content(self, log: PartitionLog | None = None) -> list[tuple[int, bytes | None]]:
        log = log or self.current
        return read_all(log, log.log_start_offset, ReadBound.LOG_END)
