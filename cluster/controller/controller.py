"""The controller: decides who leads what and carries topics through their lives.

One queue (KafkaController of 3.9 with its single event thread). An event is handled to its end
before the next: decide (pure modules beside this one), write to the metadata store under the check
of the controller epoch, change the context, send through the doors.

With one broker a start elects nobody: the broker registers before it becomes controller, so the
stored leader of each partition is alive, and its leader epoch is handed out as it was. Only the
controller epoch grows. A partition that lost its leader (a failed log directory) is elected anew.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from cluster import znodes
from cluster.controller.config_entities import Configs, change_configs
from cluster.controller.context import ControllerContext
from cluster.controller.deletions import DeletionResult, TopicReference
from cluster.controller.event_queue import EventQueue
from cluster.controller.feature_levels import features_of, finalize
from cluster.controller.messages import LiveBroker, ReplicaDoors
from cluster.controller.reassignment import Reassignment, find_fault
from cluster.controller.requested_elections import Elections
from cluster.controller.term import Term
from cluster.controller.topic_changes import TopicChanges
from cluster.controller.topics import Growth, NewTopic, TopicPolicy, TopicResult
from cluster.features import FeatureUpdate
from cluster.membership import register_and_lead
from cluster.metadata_cache import MetadataCache
from cluster.store.port import MetadataStore
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition

T = TypeVar("T")
ConfigChanged = Callable[[str, str, Configs], None]
"""Told of the configs now set on (entity type, name); brokers also by "<default>"."""


class Controller:
    """Takes events, one at a time; `run` is the task that handles them.

    `load` reads the store, before logs are opened; `start` registers the broker and makes it
    leader of what it holds. Before `start` and after `close` requests get NOT_CONTROLLER.
    """

    def __init__(
        self,
        store: MetadataStore,
        doors: ReplicaDoors,
        cache: MetadataCache,
        policy: TopicPolicy,
        config_changed: ConfigChanged,
    ) -> None:
        self._store = store
        self._doors = doors
        self._cache = cache
        self._policy = policy
        self._config_changed = config_changed
        self._context = ControllerContext()
        self._queue = EventQueue()
        self._term: Term | None = None

    @property
    def is_active(self) -> bool:
        """Whether requests are served."""
        return self._term is not None and not self._term.is_over

    @property
    def epoch(self) -> int:
        """The controller epoch; -1 while this broker is not controller."""
        return -1 if self._term is None else self._term.epoch

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before it."""
        return -1 if self._term is None else self._term.leadership.broker_epoch

    def topic_id_of(self, partition: TopicPartition) -> bytes | None:
        """The id of the topic a partition belongs to, as read or written last; None for unknown.

        Zero in trees of old Kafka. Topics still to be deleted are known.
        """
        record = self._context.topics.get(partition.topic)
        if record is None or partition.partition not in record.replicas:
            return None
        return record.topic_id

    async def run(self) -> None:
        """Handle events until cancelled; what waits then gets NOT_CONTROLLER."""
        try:
            await self._queue.run()
        finally:
            self.close()

    def close(self) -> None:
        """Serve nothing more; events not begun get NOT_CONTROLLER."""
        if self._term is not None:
            self._term.is_over = True
        self._queue.refuse_waiting()

    async def load(self) -> None:
        """Read the whole store and tell the configs it holds; changes nothing."""
        topic_nodes = await self._store.subtree(znodes.TOPICS)
        config_nodes = await self._store.subtree(znodes.CONFIG)
        marked = await self._store.children(znodes.DELETE_TOPICS)
        self._cache.features = features_of(await self._store.get(znodes.FEATURE))
        self._context.load(topic_nodes, config_nodes, marked)
        for name, config in self._context.configs["topics"].items():
            self._cache.set_topic_overrides(name, config)
        for entity_type in znodes.FREE_NAMES:
            for name, config in self._context.configs[entity_type].items():
                self._tell(entity_type, name, config)
        for name, config in self._context.configs["brokers"].items():
            self._config_changed("brokers", name, config)

    async def start(self, broker: LiveBroker, now_ms: int) -> None:
        """Register the broker, become controller, hand out leadership, end pending deletions."""
        await self._queue.submit(lambda: self._start(broker, now_ms))

    async def create_topics(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[TopicResult]:
        """Create what can be created, all in one commit; one result a name, duplicates last."""
        return await self._submit(
            lambda changes: changes.create(new_topics, validate_only=validate_only)
        )

    async def create_partitions(
        self, growths: Sequence[Growth], *, validate_only: bool = False
    ) -> list[TopicResult]:
        """Add partitions to topics; one result a name, duplicates last."""
        return await self._submit(
            lambda changes: changes.grow(growths, validate_only=validate_only)
        )

    async def delete_topics(self, references: Sequence[TopicReference]) -> list[DeletionResult]:
        """Delete topics; those told deleted are, whatever happens after."""
        return await self._submit(lambda changes: changes.delete(references))

    async def set_configs(self, entity_type: str, name: str, config: Configs) -> None:
        """Replace the configs of (entity type, name)."""
        await self.change_configs(entity_type, name, lambda _: config)

    async def change_configs(
        self, entity_type: str, name: str, change: Callable[[Configs], Configs]
    ) -> None:
        """Replace the configs by what `change` makes of those set now; it may refuse by raising.

        UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist.
        """
        await self._submit(lambda _: self._change_configs(entity_type, name, change))

    async def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> None:
        """Finalize levels of features, all or none; INVALID_UPDATE_VERSION tells why not."""
        await self._submit(lambda _: self._update_features(updates, validate_only=validate_only))

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool
    ) -> dict[TopicPartition, ErrorCode | KafkaError]:
        """Have partitions (None: all) led by the preferred replica, or else by any live one."""
        return await self._submit(
            lambda _: Elections(self._active_term(), unclean=unclean).hold(partitions)
        )

    async def alter_partition_reassignments(
        self, wanted: Sequence[Reassignment], *, may_change_factor: bool
    ) -> list[KafkaError | None]:
        """Move partitions to other brokers; why each cannot be, None for what is so already."""
        return await self._submit(
            lambda _: self._check_reassignments(wanted, may_change_factor=may_change_factor)
        )

    async def replicas_went_offline(self, partitions: Collection[TopicPartition]) -> None:
        """Take leadership from this broker's replicas in a failed log directory."""
        await self._queue.submit(lambda: self._replicas_went_offline(partitions))

    async def _submit(self, handle: Callable[[TopicChanges], Awaitable[T]]) -> T:
        """Queue what only a controller does; the one place that refuses when this is none."""

        def begin() -> Awaitable[T]:
            return handle(TopicChanges(self._active_term(), self._cache, self._policy))

        self._active_term()
        return await self._queue.submit(begin)

    def _active_term(self) -> Term:
        if self._term is None or self._term.is_over:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        return self._term

    async def _start(self, broker: LiveBroker, now_ms: int) -> None:
        leadership = await register_and_lead(self._store, broker, now_ms)
        context = self._context
        context.brokers[broker.id] = broker._replace(epoch=leadership.broker_epoch)
        term = Term(self._store, self._doors, context, broker.id, leadership)
        await term.send_metadata()
        served = list(context.served())
        await term.elect_leaderless(served)
        await term.announce(served, is_new=False)
        if context.deleting:
            changes = TopicChanges(term, self._cache, self._policy)
            await changes.carry_out_deletions(context.deleting)
        self._term = term

    async def _change_configs(
        self, entity_type: str, name: str, change: Callable[[Configs], Configs]
    ) -> None:
        config = await change_configs(self._active_term(), entity_type, name, change)
        self._tell(entity_type, name, config)

    def _tell(self, entity_type: str, name: str, config: Configs) -> None:
        if entity_type == "topics":
            self._cache.set_topic_overrides(name, config)
        elif entity_type == znodes.GROUPS:
            self._cache.group_configs.set(name, config)
        elif entity_type == znodes.CLIENT_METRICS:
            self._cache.client_metrics.set(name, config)
        self._config_changed(entity_type, name, config)

    async def _update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool
    ) -> None:
        self._cache.features = await finalize(
            self._active_term(), self._cache.features, updates, validate_only=validate_only
        )

    async def _check_reassignments(
        self, wanted: Sequence[Reassignment], *, may_change_factor: bool
    ) -> list[KafkaError | None]:
        context = self._context
        live = sorted(context.brokers)
        topics = {
            name: record.replicas
            for name, record in context.topics.items()
            if name not in context.deleting
        }
        return [
            find_fault(one, topics, live, may_change_factor=may_change_factor) for one in wanted
        ]

    async def _replicas_went_offline(self, partitions: Collection[TopicPartition]) -> None:
        if self._term is None:
            return  # The start that comes will be told so by the doors.
        wanted = set(partitions)
        served = [tp for tp in self._context.served() if tp in wanted]
        term = self._active_term()
        await term.lose_replicas(served)
        await term.send_metadata(served)
