"""One term of a controller: from its election to its end, it alone writes who leads.

Every write goes with a check of the controller epoch's version: should another controller have
been elected, the store refuses and nothing is sent. What is sent was committed before.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from cluster import znodes
from cluster.controller.context import ControllerContext, first_leadership
from cluster.controller.election import elect_offline, first_state, has_live_leader
from cluster.controller.in_sync import without_replica
from cluster.controller.messages import ReplicaDoors
from cluster.controller.sender import Sender
from cluster.controller.topics import Replicas
from cluster.controller.turns import next_turn
from cluster.membership import Leadership
from cluster.store.port import (
    BadVersion,
    Check,
    Create,
    MetadataStore,
    Operation,
    Outcome,
    Set,
    StoreError,
)
from cluster.znodes import PartitionState
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition

_PARTITIONS_PER_TURN = 500

_logger = logging.getLogger(__name__)


class Term:
    """Writes and announces leadership under one controller epoch, on the controller's queue."""

    def __init__(
        self,
        store: MetadataStore,
        doors: ReplicaDoors,
        context: ControllerContext,
        broker_id: int,
        leadership: Leadership,
    ) -> None:
        self.store = store
        self.context = context
        self.broker_id = broker_id
        self.leadership = leadership
        self.epoch = leadership.controller_epoch
        self.sender = Sender(doors, broker_id, self.epoch)
        self.is_over = False

    async def write(self, operations: Sequence[Operation]) -> list[Outcome]:
        """One commit; NOT_CONTROLLER if somebody else is, KAFKA_STORAGE_ERROR if it failed."""
        check = Check(znodes.CONTROLLER_EPOCH, self.leadership.epoch_version)
        try:
            outcomes = await self.store.multi([check, *operations])
        except StoreError as error:
            if isinstance(error, BadVersion) and error.index == 0:
                self.is_over = True
                raise KafkaError(ErrorCode.NOT_CONTROLLER) from error
            _logger.error("The metadata store refused a change: %r", error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR) from error
        return outcomes[1:]

    def first_states(self, replicas: Replicas) -> dict[int, PartitionState]:
        """Leadership of new partitions; those without a live replica have none yet."""
        found = {}
        for index, brokers in replicas.items():
            state = first_state(brokers, self.context.brokers, self.epoch)
            if state is not None:
                found[index] = state
        return found

    async def announce(self, partitions: Sequence[TopicPartition], *, is_new: bool) -> None:
        """Send LeaderAndIsr, take leadership from replicas that cannot have it, send metadata."""
        states = []
        for count, tp in enumerate(partitions, 1):
            if count % _PARTITIONS_PER_TURN == 0:
                await next_turn()
            state = self.context.leader_and_isr(tp, is_new=is_new)
            if state is not None and self.broker_id in state.replicas:
                states.append(state)
        errors = await self.sender.leader_and_isr(states)
        for tp, error in errors.items():
            _logger.error("Partition %s was not taken over: %s", tp, error.name)
        await self.lose_replicas(
            [tp for tp, error in errors.items() if error is ErrorCode.KAFKA_STORAGE_ERROR]
        )
        await self.send_metadata(partitions)

    async def send_metadata(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Tell the live brokers and what is known of the partitions."""
        described = []
        for count, tp in enumerate(partitions, 1):
            if count % _PARTITIONS_PER_TURN == 0:
                await next_turn()
            one = self.context.partition_metadata(tp)
            if one is not None:
                described.append(one)
        await self.sender.metadata(self.context.brokers.values(), described)

    async def elect_leaderless(self, partitions: Iterable[TopicPartition]) -> None:
        """Give leadership to partitions that never had it or whose leader is not alive."""
        changed: dict[TopicPartition, PartitionState] = {}
        fresh: dict[str, dict[int, PartitionState]] = {}
        for tp in partitions:
            record = self.context.topics[tp.topic]
            live = self.context.live_for(tp)
            state = record.states.get(tp.partition)
            replicas = record.replicas[tp.partition]
            if state is None:
                first = first_state(replicas, live, self.epoch)
                if first is not None:
                    fresh.setdefault(tp.topic, {})[tp.partition] = first
            elif not has_live_leader(state, live):
                unclean = self.context.allows_unclean_election(tp.topic)
                elected = elect_offline(state, replicas, live, self.epoch, unclean=unclean)
                if elected is not None:
                    changed[tp] = elected
        await self._write_fresh(fresh)
        await self.write_changed(changed)

    async def lose_replicas(self, partitions: Iterable[TopicPartition]) -> None:
        """This broker's replicas of the partitions went offline."""
        changed = {}
        for tp in partitions:
            self.context.offline.setdefault(tp, set()).add(self.broker_id)
            state = self.context.topics[tp.topic].states.get(tp.partition)
            lost = None if state is None else without_replica(state, self.broker_id, self.epoch)
            if lost is not None:
                changed[tp] = lost
        await self.write_changed(changed)

    async def _write_fresh(self, fresh: Mapping[str, dict[int, PartitionState]]) -> None:
        operations: list[Operation] = []
        for name, states in fresh.items():
            existing = await self.store.subtree(znodes.topic(name))
            wanted = [Create(znodes.partitions(name)), *first_leadership(name, states)]
            operations += [one for one in wanted if one.path not in existing]
        if operations:
            await self.write(operations)
        for name, states in fresh.items():
            self.context.topics[name].states.update(states)

    async def write_changed(self, changed: Mapping[TopicPartition, PartitionState]) -> None:
        """Store leadership that has changed, all of it in one commit; nobody is told yet."""
        if not changed:
            return
        operations = [
            Set(
                znodes.partition_state(tp.topic, tp.partition),
                znodes.encode_partition_state(state),
                state.partition_epoch,
            )
            for tp, state in changed.items()
        ]
        versions = await self.write(operations)
        for (tp, state), version in zip(changed.items(), versions, strict=True):
            assert isinstance(version, int)
            stored = state._replace(partition_epoch=version)
            self.context.topics[tp.topic].states[tp.partition] = stored
