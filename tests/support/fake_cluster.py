"""A controller on fake ports: the store in memory, and doors that keep directories in a set.

`Machine` stands for one broker's machine: what survives when its process dies is the store's
content and `directories`. `start` boots a process on it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random

from cluster import znodes
from cluster.controller.controller import Controller
from cluster.controller.messages import (
    Endpoint,
    LeaderAndIsr,
    LiveBroker,
    MetadataUpdate,
    StopReplica,
)
from cluster.controller.topics import TopicPolicy
from cluster.metadata_cache import MetadataCache
from cluster.store.opening import create_root_paths
from config.topic_config import validate_topic_overrides
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from tests.support.fake_store import FakeStore, StoreDied

CLUSTER_ID = "fZSON9t1SVCaDJyFHjGfqw"
BROKER = LiveBroker(1, {"PLAINTEXT": Endpoint("localhost", 9092)})
NOW_MS = 1_700_000_000_000


class FakeDoors:
    """ReplicaDoors that remember directories by topic id, calls, and dies at a chosen step."""

    def __init__(self, metadata: MetadataCache, directories: dict[TopicPartition, bytes]) -> None:
        self.metadata = metadata
        self.directories = directories
        self.epochs: dict[TopicPartition, int] = {}
        self.leaders: dict[TopicPartition, LeaderAndIsr] = {}
        self.calls: list[str] = []
        self.offline: set[TopicPartition] = set()
        self.steps = 0
        self.dies_at: int | None = None

    def become_leader_or_follower(
        self, controller_epoch: int, states: Sequence[LeaderAndIsr]
    ) -> dict[TopicPartition, ErrorCode]:
        self.calls.append("LeaderAndIsr")
        answers = {}
        for state in states:
            self._step()
            tp = state.tp
            if tp in self.offline:
                answers[tp] = ErrorCode.KAFKA_STORAGE_ERROR
            elif self.directories.setdefault(tp, state.topic_id) != state.topic_id:
                answers[tp] = ErrorCode.INCONSISTENT_TOPIC_ID
            elif self.epochs.get(tp, -1) >= state.leader_epoch:
                answers[tp] = ErrorCode.STALE_CONTROLLER_EPOCH
            else:
                self.epochs[tp] = state.leader_epoch
                self.leaders[tp] = state
                answers[tp] = ErrorCode.NONE
        return answers

    def stop_replicas(
        self, controller_epoch: int, partitions: Sequence[StopReplica]
    ) -> dict[TopicPartition, ErrorCode]:
        self.calls.append("StopReplica")
        answers = {}
        for stop in partitions:
            self._step()
            if stop.tp in self.offline:
                answers[stop.tp] = ErrorCode.KAFKA_STORAGE_ERROR
                continue
            answers[stop.tp] = ErrorCode.NONE
            self.leaders.pop(stop.tp, None)
            self.epochs.pop(stop.tp, None)
            if stop.delete:
                self.directories.pop(stop.tp, None)
        return answers

    def maybe_update_metadata_cache(
        self, controller_epoch: int, update: MetadataUpdate
    ) -> list[TopicPartition]:
        self.calls.append("UpdateMetadata")
        self._step()
        return self.metadata.apply(update)

    def _step(self) -> None:
        if self.dies_at == self.steps:
            raise StoreDied
        self.steps += 1


class Process:
    """One run of the broker."""

    def __init__(
        self,
        store: FakeStore,
        directories: dict[TopicPartition, bytes],
        *,
        num_partitions: int = 1,
        replication_factor: int = 1,
        seed: int = 0,
    ) -> None:
        self.store = store
        self.metadata = MetadataCache(CLUSTER_ID)
        self.doors = FakeDoors(self.metadata, directories)
        self.configs: list[tuple[str, str, dict[str, str]]] = []
        random = Random(seed)
        self.controller = Controller(
            store,
            self.doors,
            self.metadata,
            TopicPolicy(
                lambda: num_partitions,
                lambda: replication_factor,
                validate_topic_overrides,
                lambda: random.randbytes(16),
                random,
            ),
            lambda entity, name, config: self.configs.append((entity, name, dict(config))),
        )
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.task = asyncio.ensure_future(self.controller.run())
        await self.or_death(self.controller.load)
        await self.or_death(lambda: self.controller.start(BROKER, NOW_MS))

    async def or_death(self, call: Callable[[], Awaitable[object]]) -> object:
        """What the call gives, or StoreDied when the controller's task died of it."""
        assert self.task is not None
        waiting = asyncio.ensure_future(call())
        await asyncio.wait([waiting, self.task], return_when=asyncio.FIRST_COMPLETED)
        if self.task.done():
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            if isinstance(self.task.exception(), StoreDied):
                raise StoreDied
        return await waiting

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)


class Machine:
    """What outlives processes; `processes` are ended by `stop`."""

    def __init__(self) -> None:
        self.store = FakeStore()
        self.directories: dict[TopicPartition, bytes] = {}
        self.processes: list[Process] = []

    async def prepare(self) -> None:
        await create_root_paths(self.store, CLUSTER_ID)

    def boot(self, **settings: int) -> Process:
        """The process that comes after the last one, not yet started."""
        self.store = self.store.reopen()
        process = Process(self.store, self.directories, **settings)
        self.processes.append(process)
        return process

    async def start(self, **settings: int) -> Process:
        process = self.boot(**settings)
        await process.start()
        return process

    async def stop(self) -> None:
        for process in self.processes:
            await process.stop()

    async def nodes(self) -> Mapping[str, bytes | None]:
        """Data of all that is stored of topics."""
        found = {}
        for path in (znodes.TOPICS, znodes.CONFIG, znodes.DELETE_TOPICS):
            found.update(await self.store.subtree(path))
        return {path: node.data for path, node in found.items()}
