"""Topics come, grow and go: decide, commit, send.

What a crash leaves at any point is carried on by the next start, since the store comes first:

    create   store commit | directories                      missing directories are made
    grow     store commit | directories                      the same
    delete   mark | directories renamed | nodes removed      marked topics are taken to the end
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from cluster import znodes
from cluster.controller import deletions, topics
from cluster.controller.context import creation, first_leadership
from cluster.controller.deletions import DeletionResult, TopicReference
from cluster.controller.messages import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    PartitionMetadata,
    StopReplica,
)
from cluster.controller.term import Term
from cluster.controller.topics import (
    Growth,
    NewTopic,
    Replicas,
    TopicPlan,
    TopicPolicy,
    TopicResult,
)
from cluster.controller.turns import TOPICS_PER_TURN, next_turn
from cluster.metadata_cache import MetadataCache
from cluster.store.port import Create, Delete, Operation, Set
from cluster.znodes import PartitionState
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition

_logger = logging.getLogger(__name__)


class TopicChanges:
    """The events of one term that change which topics there are."""

    def __init__(self, term: Term, cache: MetadataCache, policy: TopicPolicy) -> None:
        self._term = term
        self._context = term.context
        self._cache = cache
        self._policy = policy

    async def create(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool
    ) -> list[TopicResult]:
        """Create what can be created in one commit; one result a name, duplicates last."""
        wanted, refused = topics.without_duplicates(new_topics)
        topics.check_partition_sum(wanted, self._policy.num_partitions())
        live = sorted(self._context.brokers)
        plans: list[TopicPlan] = []
        results = []
        for count, topic in enumerate(wanted, 1):
            if count % TOPICS_PER_TURN == 0:
                await next_turn()
            try:
                plan = topics.plan_topic(
                    topic, self._context.topics, self._context.names, live, self._policy
                )
            except KafkaError as error:
                results.append(topics.refused(topic.name, error))
            else:
                plans.append(plan)
                results.append(topics.created(plan))
        if plans and not validate_only:
            await self._carry_out_creations(plans)
        return results + refused

    async def grow(self, growths: Sequence[Growth], *, validate_only: bool) -> list[TopicResult]:
        """Add partitions in one commit; one result a name, duplicates last."""
        counts: dict[str, int] = {}
        for growth in growths:
            counts[growth.name] = counts.get(growth.name, 0) + 1
        added: dict[str, Replicas] = {}
        results = []
        for growth in growths:
            if counts[growth.name] > 1:
                continue
            try:
                added[growth.name] = self._plan_growth(growth)
                results.append(TopicResult(growth.name))
            except KafkaError as error:
                results.append(topics.refused(growth.name, error))
        if added and not validate_only:
            await self._carry_out_growth(added)
        return results + [topics.duplicate(name) for name, count in counts.items() if count > 1]

    async def delete(self, references: Sequence[TopicReference]) -> list[DeletionResult]:
        """Mark topics in one commit, after which nothing brings them back, and carry it out."""
        context = self._context
        served = {
            name: record.topic_id
            for name, record in context.topics.items()
            if name not in context.deleting
        }
        by_id = {topic_id: name for name, topic_id in served.items()}
        resolved = deletions.resolve(references, served, by_id)
        names = list(resolved.topics.values())
        if names:
            await self._term.write([Create(znodes.delete_topic(name)) for name in names])
            context.deleting.update(names)
            await self.carry_out_deletions(names)
        done = [DeletionResult(name, topic_id) for topic_id, name in resolved.topics.items()]
        return done + resolved.refused

    async def carry_out_deletions(self, names: Iterable[str]) -> None:
        """Take marked topics through the steps left; one that fails waits for the next start."""
        marked = sorted(names)
        known = {
            name: self._context.topics[name] for name in marked if name in self._context.topics
        }
        gone = [
            PartitionMetadata(
                TopicPartition(name, index), record.topic_id, LEADER_DURING_DELETE, 0, (), 0, ()
            )
            for name, record in known.items()
            for index in record.replicas
        ]
        await self._term.sender.metadata(self._context.brokers.values(), gone)
        stops = [
            StopReplica(one.tp, EPOCH_DURING_DELETE, delete=True)
            for one in gone
            if self._term.broker_id in known[one.tp.topic].replicas[one.tp.partition]
        ]
        errors = await self._term.sender.stop_replicas(stops)
        failed = {tp.topic for tp in errors}
        for name in sorted(failed):
            _logger.warning("Topic %s stays marked for deletion: a replica is offline", name)
        await self._remove([name for name in marked if name not in failed])

    def _plan_growth(self, growth: Growth) -> Replicas:
        record = self._context.topics.get(growth.name)
        if record is None or growth.name in self._context.deleting:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topics.plan_growth(growth, record.replicas, sorted(self._context.brokers))

    async def _carry_out_creations(self, plans: Sequence[TopicPlan]) -> None:
        operations: list[Operation] = []
        first: dict[str, dict[int, PartitionState]] = {}
        for count, plan in enumerate(plans, 1):
            if count % TOPICS_PER_TURN == 0:
                await next_turn()
            has_configs = plan.name in self._context.configs["topics"]
            operations += creation(plan, has_configs=has_configs)
            first[plan.name] = self._term.first_states(plan.replicas)
            operations += first_leadership(plan.name, first[plan.name])
        await self._term.write(operations)
        created = []
        for count, plan in enumerate(plans, 1):
            if count % TOPICS_PER_TURN == 0:
                await next_turn()
            self._context.add(plan).states.update(first[plan.name])
            self._cache.set_topic_overrides(plan.name, plan.configs)
            created += [TopicPartition(plan.name, index) for index in plan.replicas]
        await self._term.announce(created, is_new=True)

    async def _carry_out_growth(self, added: Mapping[str, Replicas]) -> None:
        operations: list[Operation] = []
        first = {}
        for name, replicas in added.items():
            record = self._context.topics[name]
            data = znodes.encode_topic(record.topic_id, record.replicas | replicas)
            operations.append(Set(znodes.topic(name), data))
            first[name] = self._term.first_states(replicas)
            operations += first_leadership(name, first[name])
        await self._term.write(operations)
        grown = []
        for name, replicas in added.items():
            record = self._context.topics[name]
            record.replicas.update(replicas)
            record.states.update(first[name])
            grown += [TopicPartition(name, index) for index in replicas]
        await self._term.announce(grown, is_new=True)

    async def _remove(self, names: Sequence[str]) -> None:
        operations: list[Operation] = []
        for name in names:
            nodes = await self._term.store.subtree(znodes.topic(name))
            operations += [Delete(path) for path in sorted(nodes, reverse=True)]
            if name in self._context.configs["topics"]:
                operations.append(Delete(znodes.config("topics", name)))
            operations.append(Delete(znodes.delete_topic(name)))
        if operations:
            await self._term.write(operations)
        for count, name in enumerate(names, 1):
            if count % TOPICS_PER_TURN == 0:
                await next_turn()
            self._context.remove(name)
            self._cache.set_topic_overrides(name, {})
