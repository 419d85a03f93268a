"""A replica manager over real logs on a disk in memory, with turns, timers and jobs by hand.

broker = ReplicaBroker()
broker.create("t", partitions=2)
broker.turn()           what was deferred runs
broker.advance(500)     time passes, timers that are due fire
broker.run_jobs()       background work that storage asked for is planned, done and committed
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, ParamSpec, TypeVar, Unpack

import pytest

from broker.context import HandlerResult, Parked, Peer, Reply, RequestContext
from broker.replication.alter_log_dirs import (
    NO_CLEANER,
    MoveLimits,
    MoverEnvironment,
    ReplicaAlterLogDirsManager,
)
from broker.replication.meters import BrokerTopicMeters
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaEnvironment, ReplicaManager
from cluster.controller.messages import (
    Endpoint,
    LeaderAndIsr,
    LiveBroker,
    MetadataUpdate,
    PartitionMetadata,
    StopReplica,
)
from cluster.metadata_cache import MetadataCache
from config.topic_config import LogConfig
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, KafkaError
from protocol.headers import RequestHeader
from protocol.model import TopicPartition
from protocol.records.builder import BatchFields, build_batch
from protocol.records.record import Record
from protocol.schema.message import Response
from storage.errors import StorageError
from storage.jobs import Job
from storage.log.environment import LogEnvironment
from storage.log.partition_log import PartitionLog
from storage.log.results import AppendResult
from storage.log_directory import LogDirectory
from storage.log_manager import LogManager
from storage.segment.file_records import FilePool
from tests.support.fault_disk import FaultDisk
from tests.support.manual_clock import ManualClock

NODE = 1
CONTROLLER_EPOCH = 1
LISTENER = "PLAINTEXT"

P = ParamSpec("P")
R = TypeVar("R", bound=Response)


class Timer:
    """One armed timer."""

    def __init__(self, due_ms: int, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ReplicaBroker:
    """See the module."""

    def __init__(
        self,
        log_dirs: Sequence[str] = ("/d1",),
        disk: FaultDisk | None = None,
        known: Mapping[TopicPartition, bytes] | None = None,
    ) -> None:
        """`known`: the topic ids of the partitions that metadata has at start."""
        self.disk = disk or FaultDisk()
        self.clock = ManualClock()
        self.soon: list[Callable[[], None]] = []
        self.timers: list[Timer] = []
        self.jobs: list[Job] = []
        self.configs: dict[str, LogConfig] = {}
        self.failed_directories: list[str] = []
        self._unique = itertools.count(1)
        directories = [LogDirectory(self.disk, path) for path in log_dirs]
        for directory in directories:
            directory.open()
        environment = LogEnvironment(
            FilePool(100), lambda n: 0, lambda: f"{next(self._unique):032x}", lambda: 86_400_000
        )
        self.logs = LogManager(directories, environment)
        self.report = self.logs.load(self.clock.now_ms(), self.config, (known or {}).get)
        self.metadata = MetadataCache("cluster")
        self.replicas = ReplicaManager(
            NODE,
            self.logs,
            self.metadata,
            BrokerTopicMeters(),
            ReplicaEnvironment(
                self.clock,
                self.soon.append,
                self._after,
                self.jobs.extend,
                self.config,
                lambda path, _: self.failed_directories.append(path),
            ),
        )
        self.move_bytes_per_second = 1 << 62
        self.moves = ReplicaAlterLogDirsManager(
            self.replicas,
            self.logs,
            MoverEnvironment(self.clock, self._after, self.jobs.extend),
            MoveLimits(lambda: self.move_bytes_per_second, lambda: len(log_dirs)),
            NO_CLEANER,
        )
        self.tell_metadata([])

    def config(self, topic: str) -> LogConfig:
        return self.configs.get(topic, LogConfig())

    def _after(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        timer = Timer(self.clock.now_ms() + delay_ms, callback)
        self.timers.append(timer)
        return timer

    def create(
        self,
        topic: str,
        partitions: int = 1,
        *,
        replicas: tuple[int, ...] = (NODE,),
        isr: tuple[int, ...] = (NODE,),
        config: LogConfig | None = None,
    ) -> dict[TopicPartition, ErrorCode]:
        """Topic led by this broker, through the controller's doors."""
        self.configs[topic] = config or LogConfig()
        states = [
            self.state(TopicPartition(topic, index), replicas=replicas, isr=isr)
            for index in range(partitions)
        ]
        answers = self.replicas.become_leader_or_follower(CONTROLLER_EPOCH, states)
        self.tell_metadata(states)
        self.turn()
        return answers

    @staticmethod
    def state(
        tp: TopicPartition,
        leader: int = NODE,
        leader_epoch: int = 0,
        isr: tuple[int, ...] = (NODE,),
        replicas: tuple[int, ...] = (NODE,),
        topic_id: bytes | None = None,
    ) -> LeaderAndIsr:
        topic_id = topic_id or topic_id_of(tp[0])
        return LeaderAndIsr(tp, topic_id, leader, leader_epoch, isr, 0, replicas, True)

    def tell_metadata(
        self, states: Iterable[LeaderAndIsr], brokers: Iterable[int] = (NODE,)
    ) -> list[TopicPartition]:
        partitions = [
            PartitionMetadata(
                s.tp, s.topic_id, s.leader, s.leader_epoch, s.isr, s.partition_epoch, s.replicas
            )
            for s in states
        ]
        live = [LiveBroker(b, {LISTENER: Endpoint(f"host{b}", 9092 + b)}) for b in brokers]
        return self.replicas.maybe_update_metadata_cache(
            CONTROLLER_EPOCH, MetadataUpdate(NODE, live, partitions)
        )

    def delete(self, topic: str, index: int = 0) -> dict[TopicPartition, ErrorCode]:
        """The partition, by the controller's doors."""
        tp = TopicPartition(topic, index)
        gone = PartitionMetadata(tp, topic_id_of(topic), -2, 0, (), 0, ())
        live = list(self.metadata.brokers.values())
        self.replicas.maybe_update_metadata_cache(
            CONTROLLER_EPOCH, MetadataUpdate(NODE, live, [gone])
        )
        return self.replicas.stop_replicas(CONTROLLER_EPOCH, [StopReplica(tp, -2, True)])

    def partition(self, topic: str = "t", index: int = 0) -> Partition:
        """The partition, which is hosted here."""
        return self.replicas.partitions[TopicPartition(topic, index)]

    def log(self, topic: str = "t", index: int = 0) -> PartitionLog:
        """The log of a partition that is hosted here."""
        return log_of(self.partition(topic, index))

    def append(
        self,
        topic: str = "t",
        index: int = 0,
        values: Sequence[bytes] = (b"v",),
        acks: int = 1,
        codec: int = 0,
        **batch: Unpack[BatchFields],
    ) -> AppendResult:
        """Append one batch straight to the partition."""
        records = records_of(*values, now_ms=self.clock.now_ms(), codec=codec, **batch)
        return self.replicas.append(self.partition(topic, index), records, acks)

    def turn(self) -> None:
        """Run what was deferred, and what that defers, until nothing is."""
        while self.soon:
            soon, self.soon[:] = list(self.soon), []
            for function in soon:
                function()

    def advance(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds)
        due = [t for t in self.timers if not t.cancelled and t.due_ms <= self.clock.now_ms()]
        self.timers = [t for t in self.timers if t not in due and not t.cancelled]
        for timer in due:
            timer.callback()
        self.turn()

    def run_jobs(self) -> list[str]:
        """Do all background work asked for, delays ignored; returns the names of the jobs."""
        names = []
        while self.jobs:
            job = self.jobs.pop(0)
            names.append(job.name)
            try:
                for work in job.plan(self.clock.now_ms()):
                    work.work()
                    changed = work.commit()
                    self.jobs.extend(work.jobs)
                    self.replicas.logs_changed(changed)
            except StorageError as error:
                self.replicas.storage_failed(error)
        self.turn()
        return names


def topic_id_of(topic: str) -> bytes:
    return topic.encode().ljust(16, b"_")[:16]


def log_of(partition: Partition) -> PartitionLog:
    """The log of a partition that leads or follows."""
    assert partition.log is not None
    return partition.log


def code_of(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> ErrorCode:
    """The code of the KafkaError that this call raises."""
    with pytest.raises(KafkaError) as caught:
        function(*args, **kwargs)
    return caught.value.code


def records_of(
    *values: bytes,
    now_ms: int = 1_700_000_000_000,
    codec: int = 0,
    **batch: Unpack[BatchFields],
) -> memoryview:
    """One batch of records with these values, as a producer sends it."""
    records = [Record(offset, now_ms, None, value, []) for offset, value in enumerate(values)]
    return memoryview(bytearray(build_batch(records, codec=codec, **batch)))


def context_of(
    version: int, api_key: ApiKey = ApiKey.PRODUCE, client_id: str | None = "test"
) -> RequestContext:
    """A request of that version."""
    header = RequestHeader(int(api_key), version, 1, client_id, 0)
    return RequestContext(header, Peer(LISTENER, "127.0.0.1", "c-1"), 0.0)


class Delivery(Generic[R]):
    """What became of a handler's result, which is or will be a response of this type."""

    def __init__(self, result: HandlerResult, response_type: type[R]) -> None:
        self.replies: list[Reply | Exception] = []
        self._response_type = response_type
        self.parked = result if isinstance(result, Parked) else None
        if self.parked is None:
            assert isinstance(result, response_type)
            self.replies.append(result)
        else:
            self.parked.attach(self.replies.append)

    @property
    def waiting(self) -> bool:
        return not self.replies

    @property
    def reply(self) -> R:
        (reply,) = self.replies
        assert isinstance(reply, self._response_type), reply
        return reply

    def abandon(self) -> None:
        """The connection is lost while the answer is waited for."""
        assert self.parked is not None
        self.parked.abandon()
