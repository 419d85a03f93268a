"""One log on a fault disk, its jobs run by hand: what a broker does, without one."""

from collections import deque
from collections.abc import Iterable

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from protocol.records.batch import iterate_batches
from protocol.records.builder import build_batch
from protocol.records.record import Record
from runtime.disk import Disk
from storage.jobs import Job
from storage.log.environment import LogEnvironment
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound
from storage.log_directory import LogDirectory
from storage.log_jobs import JobIntervals, LogJobs
from storage.log_loading import LoadReport
from storage.log_manager import LogManager
from storage.segment.file_records import FilePool

PARTITION = TopicPartition("orders", 0)
TOPIC_ID = bytes(range(1, 17))
LOG_DIR = "/data"
NEVER = 1 << 62
START_MS = 1_700_000_000_000


def environment(pool: int = 100, first_unique: int = 0) -> LogEnvironment:
    """No jitter, unique names that count, producers that never expire."""
    count = iter(range(first_unique, 1 << 60))
    return LogEnvironment(
        FilePool(pool), lambda _bound: 0, lambda: f"{next(count):032x}", lambda: NEVER
    )


def every(period_ms: int = 1000) -> JobIntervals:
    """All jobs at one interval, which nobody waits for."""

    def period() -> int:
        return period_ms

    return JobIntervals(period, period, period, period, period, period, period, 0)


def records(values: Iterable[bytes], timestamp: int = START_MS) -> list[Record]:
    """Keyless records, all of one time."""
    return [Record(0, timestamp, None, value, []) for value in values]


class LogHarness:
    """A log manager over one directory, loaded with one topic known."""

    def __init__(self, disk: Disk, config: LogConfig | None = None, log_dir: str = LOG_DIR) -> None:
        self.disk = disk
        self.config = config or LogConfig(file_delete_delay_ms=0)
        self.now_ms = START_MS
        self.later: deque[Job] = deque()
        self.directory = LogDirectory(disk, log_dir)
        self.directory.open()
        self.manager = LogManager([self.directory], environment())
        self.report: LoadReport = self.manager.load(
            self.now_ms,
            lambda _topic: self.config,
            lambda partition: TOPIC_ID if partition == PARTITION else None,
        )
        self.jobs = LogJobs(self.manager, every())
        self.log: PartitionLog = self.manager.get_or_create(
            PARTITION, TOPIC_ID, self.config, self.now_ms
        )

    def run(self, jobs: Iterable[Job]) -> None:
        """Run jobs, and what follows from them, to the end."""
        queue = deque(jobs)
        while queue:
            for work in queue.popleft().plan(self.now_ms):
                work.work()
                work.commit()
                queue.extend(work.jobs)

    def append(self, values: Iterable[bytes], epoch: int = 0, **fields: int) -> tuple[int, int]:
        """Append one batch as leader; first and last offset."""
        data = build_batch(records(values, self.now_ms), **fields)  # type: ignore[arg-type]
        result = self.log.append_as_leader(memoryview(data), epoch, self.now_ms)
        self.run(result.jobs)
        return result.base_offset, result.last_offset

    def flush(self) -> None:
        """Flush all."""
        work = self.log.plan_flush(self.now_ms)
        if work is not None:
            work.work()
            work.commit()
            self.run(work.jobs)

    def checkpoint(self) -> None:
        """Write every checkpoint."""
        for job in self.jobs.periodic_jobs():
            if job.name.endswith("checkpoint"):
                self.run([Job(job.name, 0, job.plan)])

    def close(self) -> None:
        """Shut down cleanly."""
        self.manager.close(self.now_ms, clean=True)

    def content(self, bound: ReadBound = ReadBound.LOG_END) -> list[tuple[int, bytes | None]]:
        """(offset, value) of every record of data from the log start on."""
        return read_all(self.log, self.log.log_start_offset, bound)


def read_all(
    log: PartitionLog, offset: int, bound: ReadBound, max_bytes: int = 1 << 20
) -> list[tuple[int, bytes | None]]:
    """(offset, value) of the data a consumer would get from an offset on."""
    found: list[tuple[int, bytes | None]] = []
    while True:
        result = log.read(offset, max_bytes, bound, True)
        if result.slice is None:
            return found
        data = result.slice.read()
        result.slice.release()
        for batch in iterate_batches(data):
            if not batch.is_control:
                found += [
                    (record.offset, record.value)
                    for record in batch.records()
                    if record.offset >= offset
                ]
            offset = batch.next_offset
