"""The storage of a broker on a fault disk, driven by hand, and the ledgers of those who use it.

It does what the broker does around storage and nothing more: it boots over its log directories,
makes the logs that metadata names, runs jobs in three steps, lets the high watermark follow the
log end (or what is flushed, under group commit), takes a directory offline when it fails, and goes
on with the others. The metadata (which topic id a name has) are outside the disk: they are
durable before storage hears of anything.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from config.topic_config import LogConfig
from protocol.errors import KafkaError
from protocol.model import TopicPartition
from protocol.records.batch import iterate_batches
from storage.cleaner.log_cleaner import CleanerSettings, LogCleaner
from storage.cleaner.running import InLineRunner
from storage.errors import StorageError
from storage.jobs import Job, Work
from storage.log.partition_log import PartitionLog
from storage.log.results import ReadBound
from storage.log_directory import LogDirectory
from storage.log_jobs import LogJobs
from storage.log_loading import UnservedDirectory
from storage.log_manager import LogManager
from tests.crash.ledger import Ledger, Written, written
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, environment, every

ONE_BOOT = 1 << 32
"""Unique names a boot may use before they run into those of the next one."""


CLEANING = CleanerSettings(
    enabled=True,
    threads=lambda: 1,
    dedupe_buffer_bytes=lambda: 1 << 16,
    load_factor=lambda: 0.9,
    io_buffer_bytes=lambda: 1 << 16,
    io_max_bytes_per_second=lambda: float("inf"),
    backoff_ms=lambda: 0,
)


class Setup(NamedTuple):
    """Where logs live and how the topics are kept; `lazy` leaves jobs until a step runs them."""

    topics: Mapping[str, LogConfig]
    partitions: int = 1
    log_dirs: tuple[str, ...] = ("/data",)
    lazy: bool = False


class Machine:
    """See the module."""

    def __init__(self, disk: FaultDisk, setup: Setup) -> None:
        self.disk = disk
        self.setup = setup
        self.now_ms = START_MS
        self.epoch = 0
        self.boots = 0
        self.count = 0
        self.topic_ids: dict[TopicPartition, bytes] = {}
        self.ledgers: dict[TopicPartition, Ledger] = {}
        self.waiting: deque[Job] = deque()
        self.working: list[Work] = []
        self.unserved: list[UnservedDirectory] = []
        self.manager: LogManager
        self.jobs: LogJobs
        self.cleaner: LogCleaner

    def successor(self, disk: FaultDisk) -> "Machine":
        """A machine with the same metadata and nothing written down, not booted yet."""
        other = Machine(disk, self.setup)
        other.now_ms, other.epoch, other.boots = self.now_ms, self.epoch, self.boots + 1000
        other.count = self.count
        other.topic_ids = dict(self.topic_ids)
        other.ledgers = {one: other.ledger(one) for one in self.topic_ids}
        return other

    @property
    def directories(self) -> list[LogDirectory]:
        """Every log directory of this boot."""
        return list(self.manager.directories.values())

    # Starting and stopping.

    def boot(self) -> None:
        """Start: open the directories, load the logs, make those that are missing."""
        self.boots += 1
        self.waiting.clear()
        self.working.clear()
        directories = [self._open(path) for path in self.setup.log_dirs]
        unique = self.boots * ONE_BOOT
        self.manager = LogManager(directories, environment(first_unique=unique))
        report = self.manager.load(
            self.now_ms, lambda topic: self.setup.topics[topic], self.topic_ids.get
        )
        self.unserved = report.unserved
        self.jobs = LogJobs(self.manager, every())
        self.cleaner = LogCleaner(
            self.manager, CLEANING, InLineRunner(self.disk), self.jobs.plan_cleaner_offsets
        )
        for partition in self.topic_ids:
            try:
                self.make(partition)
            except KafkaError:
                # Its log may be in a directory that is offline: no other one is made.
                assert any(one.offline for one in self.directories), partition
        for partition, ledger in self.ledgers.items():
            log = self.log(partition)
            if log is not None:
                start, end = log.log_start_offset, log.log_end_offset
                ledger.settle(batches_of(log), start, end, log.flushed_end_offset)
                self.run(log.flush_owed())
                self.advance(partition)

    def _open(self, path: str) -> LogDirectory:
        directory = LogDirectory(self.disk, path)
        try:
            directory.open()
            directory.disk.listdir(path)
        except StorageError:
            directory.offline = True
        return directory

    def close(self) -> None:
        """Stop in order: what workers do is waited for, then everything is flushed and marked."""
        self.finish_work()
        self.manager.close(self.now_ms, clean=True)

    def failed(self, error: StorageError) -> None:
        """A directory is gone, the others serve on."""
        self.manager.fail_dir(error.directory)

    # Logs.

    def ledger(self, partition: TopicPartition) -> Ledger:
        """An empty ledger for the log that metadata names now."""
        compacted = self.setup.topics[partition.topic].compact
        return Ledger(self.topic_ids[partition], compacted=compacted)

    def make(self, partition: TopicPartition, *, is_new: bool = False) -> None:
        """Have the log of a partition that metadata names."""
        config = self.setup.topics[partition.topic]
        topic_id = self.topic_ids[partition]
        try:
            self.manager.get_or_create(partition, topic_id, config, self.now_ms, is_new=is_new)
        except StorageError as error:
            self.failed(error)

    def log(self, partition: TopicPartition) -> PartitionLog | None:
        """The log of a partition, if it is there and online."""
        return self.manager.get(partition)

    def group_commit(self, partition: TopicPartition) -> bool:
        """Whether an acknowledgement means flushed."""
        return self.setup.topics[partition.topic].flush_messages == 1

    def advance(self, partition: TopicPartition) -> None:
        """What the log says it flushed is promised; readers follow the high watermark."""
        log, ledger = self.log(partition), self.ledgers.get(partition)
        if log is None or ledger is None:
            return
        if log.flushed_end_offset > ledger.promised_end:
            ledger.flushed(log.flushed_end_offset)
        end = log.log_end_offset
        if self.group_commit(partition):
            end = min(end, log.flushed_end_offset)
        log.update_high_watermark(max(log.high_watermark, end))
        ledger.read_to(log.high_watermark)

    # Jobs.

    def run(self, jobs: Iterable[Job]) -> None:
        """Run jobs and what follows from them, or leave them all for later."""
        self.waiting.extend(jobs)
        if not self.setup.lazy:
            self.rest()

    def rest(self) -> None:
        """Run everything that waits."""
        self.finish_work()
        while self.waiting:
            for work in self.waiting.popleft().plan(self.now_ms):
                self.do(work)

    def do(self, work: Work) -> None:
        """Work and commit; a directory that fails is offline after."""
        if work.log_dir and self.manager.directories[work.log_dir].offline:
            return
        try:
            work.work()
            work.commit()
        except StorageError as error:
            self.failed(error)
            return
        self.waiting.extend(work.jobs)
        for partition in self.ledgers:
            self.advance(partition)

    def finish_work(self) -> None:
        """End what was planned and left in flight."""
        works, self.working = self.working, []
        for work in works:
            self.do(work)

    def checkpoint(self) -> None:
        """Write every checkpoint; the log starts they tell are kept from then on."""
        starts = {partition: ledger.start for partition, ledger in self.ledgers.items()}
        for job in self.jobs.periodic_jobs():
            if job.name.endswith("checkpoint"):
                for work in job.plan(self.now_ms):
                    self.do(work)
        for partition, start in starts.items():
            if self.log(partition) is not None and partition in self.ledgers:
                self.ledgers[partition].kept_start = start


def batches_of(log: PartitionLog) -> list[Written]:
    """Every batch of a log from its start on, as a follower would get them."""
    found: list[Written] = []
    offset = log.log_start_offset
    while True:
        result = log.read(offset, 1 << 20, ReadBound.LOG_END, True)
        if result.slice is None:
            return found
        data = result.slice.read()
        result.slice.release()
        found += [written(batch) for batch in iterate_batches(data)]
        offset = found[-1].next_offset


def committed_of(log: PartitionLog) -> list[bytes | None]:
    """The values a reader of committed data gets from the log start on, as clients filter them."""
    values: list[bytes | None] = []
    offset = log.log_start_offset
    while True:
        result = log.read(offset, 1 << 20, ReadBound.LAST_STABLE, True)
        if result.slice is None:
            return values
        data = result.slice.read()
        result.slice.release()
        waiting = sorted(result.aborted_transactions or (), key=lambda one: one.first_offset)
        aborted: set[int] = set()
        for batch in iterate_batches(data):
            one = written(batch)
            while waiting and waiting[0].first_offset < one.next_offset:
                aborted.add(waiting.pop(0).producer_id)
            if one.commit is False:
                aborted.discard(one.producer_id)
            elif one.commit is None and not (one.transactional and one.producer_id in aborted):
                values += one.values
            offset = one.next_offset


def undecided(found: Sequence[Written]) -> dict[int, int]:
    """The producers whose transaction is open after these batches: where each one's begins."""
    first: dict[int, int] = {}
    for batch in found:
        if batch.commit is not None:
            first.pop(batch.producer_id, None)
        elif batch.transactional:
            first.setdefault(batch.producer_id, batch.offset)
    return first


def committed_in(found: Sequence[Written], before: int) -> list[bytes | None]:
    """What a reader of committed data is to see of these batches, up to an offset."""
    ends = [(batch.offset, batch.producer_id, batch.commit) for batch in found]
    values: list[bytes | None] = []
    for batch in found:
        if batch.commit is not None or batch.next_offset > before:
            continue
        if batch.transactional:
            outcomes = (
                commit
                for offset, producer_id, commit in ends
                if commit is not None and offset > batch.offset and producer_id == batch.producer_id
            )
            if not next(outcomes, False):
                continue
        values += batch.values
    return values
