"""A replica manager over real logs on a disk in memory, with turns, timers and jobs by hand.

broker = ReplicaBroker()
broker.create("t", partitions=2)
broker.turn()           what was deferred runs
broker.advance(500)     time passes, timers that are due fire
broker.run_jobs()       background work that storage asked for is planned, done and committed
"""

import itertools

from broker.context import Parked, Peer, RequestContext
from broker.replication.meters import BrokerTopicMeters
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
from protocol.headers import RequestHeader
from protocol.model import TopicPartition
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.log.environment import LogEnvironment
from storage.log_directory import LogDirectory
from storage.log_manager import LogManager
from storage.segment.file_records import FilePool
from tests.support.fault_disk import FaultDisk
from tests.support.manual_clock import ManualClock

NODE = 1
CONTROLLER_EPOCH = 1
LISTENER = "PLAINTEXT"


class Timer:
    """One armed timer."""

    def __init__(self, due_ms, callback):
        self.due_ms = due_ms
        self.callback = callback
        self.cancelled = False

    def cancel(self):
        self.cancelled = True


class ReplicaBroker:
    """See the module."""

    def __init__(self, log_dirs=("/d1",), disk=None):
        self.disk = disk or FaultDisk()
        self.clock = ManualClock()
        self.soon = []
        self.timers = []
        self.jobs = []
        self.configs = {}
        self.failed_directories = []
        self._unique = itertools.count(1)
        directories = [LogDirectory(self.disk, path) for path in log_dirs]
        for directory in directories:
            directory.open()
        environment = LogEnvironment(
            FilePool(100), lambda n: 0, lambda: f"{next(self._unique):032x}", lambda: 86_400_000
        )
        self.logs = LogManager(directories, environment)
        self.logs.load(self.clock.now_ms(), self.config, lambda tp: None)
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
        self.tell_metadata([])

    def config(self, topic):
        return self.configs.get(topic, LogConfig())

    def _after(self, delay_ms, callback):
        timer = Timer(self.clock.now_ms() + delay_ms, callback)
        self.timers.append(timer)
        return timer

    def create(self, topic, partitions=1, **options):
        """Topic led by this broker, through the controller's doors."""
        self.configs[topic] = LogConfig(**options.get("config", {}))
        states = [
            self.state(TopicPartition(topic, index), **options.get("state", {}))
            for index in range(partitions)
        ]
        answers = self.replicas.become_leader_or_follower(CONTROLLER_EPOCH, states)
        self.tell_metadata(states)
        self.turn()
        return answers

    @staticmethod
    def state(tp, leader=NODE, leader_epoch=0, isr=(NODE,), replicas=(NODE,), topic_id=None):
        topic_id = topic_id or topic_id_of(tp[0])
        return LeaderAndIsr(tp, topic_id, leader, leader_epoch, isr, 0, replicas, True)

    def tell_metadata(self, states, brokers=(NODE,)):
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

    def delete(self, topic, index=0):
        """The partition, by the controller's doors."""
        tp = TopicPartition(topic, index)
        gone = PartitionMetadata(tp, topic_id_of(topic), -2, 0, (), 0, ())
        live = list(self.metadata.brokers.values())
        self.replicas.maybe_update_metadata_cache(
            CONTROLLER_EPOCH, MetadataUpdate(NODE, live, [gone])
        )
        return self.replicas.stop_replicas(CONTROLLER_EPOCH, [StopReplica(tp, -2, True)])

    def partition(self, topic="t", index=0):
        return self.replicas.partition(TopicPartition(topic, index))

    def append(self, topic="t", index=0, values=(b"v",), acks=1, **batch):
        """Append one batch straight to the partition."""
        records = records_of(*values, now_ms=self.clock.now_ms(), **batch)
        return self.replicas.append(self.partition(topic, index), records, acks)

    def turn(self):
        """Run what was deferred, and what that defers, until nothing is."""
        while self.soon:
            soon, self.soon[:] = list(self.soon), []
            for function in soon:
                function()

    def advance(self, milliseconds):
        self.clock.advance(milliseconds)
        due = [t for t in self.timers if not t.cancelled and t.due_ms <= self.clock.now_ms()]
        self.timers = [t for t in self.timers if t not in due and not t.cancelled]
        for timer in due:
            timer.callback()
        self.turn()

    def run_jobs(self):
        """Do all background work asked for, delays ignored; returns the names of the jobs."""
        names = []
        while self.jobs:
            job = self.jobs.pop(0)
            names.append(job.name)
            for work in job.plan(self.clock.now_ms()):
                work.work()
                changed = work.commit()
                self.jobs.extend(work.jobs)
                self.replicas.logs_changed(changed)
        self.turn()
        return names


def topic_id_of(topic):
    return topic.encode().ljust(16, b"_")[:16]


def records_of(*values, now_ms=1_700_000_000_000, **batch):
    """One batch of records with these values, as a producer sends it."""
    records = [Record(offset, now_ms, None, value, []) for offset, value in enumerate(values)]
    return memoryview(bytearray(build_batch(records, **batch)))


def context_of(version, api_key=ApiKey.PRODUCE, client_id="test"):
    """A request of that version."""
    header = RequestHeader(int(api_key), version, 1, client_id, 0)
    return RequestContext(header, Peer(LISTENER, "127.0.0.1", "c-1"), 0.0)


class Delivery:
    """What became of a handler's result."""

    def __init__(self, result):
        self.replies = []
        self.parked = result if isinstance(result, Parked) else None
        if self.parked is None:
            self.replies.append(result)
        else:
            self.parked.attach(self.replies.append)

    @property
    def waiting(self):
        return not self.replies

    @property
    def reply(self):
        assert len(self.replies) == 1, self.replies
        return self.replies[0]
