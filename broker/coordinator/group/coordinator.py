"""The coordinator of groups as handlers see it: it finds the shard and passes the question on.

Whatever a shard is asked, the waiter is told once. Questions that span shards are asked of each and
answered in one list, a refusal being part of its item. Without the topic nobody coordinates
anything: NOT_COORDINATOR sends clients to FindCoordinator, which has the topic made.
Source: GroupCoordinatorService (4.3).
"""

from collections.abc import Callable, Sequence

from broker.context import RequestContext
from broker.coordinator.group.consumer_members import check_request
from broker.coordinator.group.consumer_settings import ConsumerSettings
from broker.coordinator.group.offset_commands import TopicCommits, TopicPartitions
from broker.coordinator.group.settings import GroupMeters, GroupSettings
from broker.coordinator.group.shard import GroupShard
from broker.coordinator.group.turn import Caller
from broker.coordinator.partition_of import partition_of
from broker.coordinator.runtime import CoordinatorRuntime
from broker.coordinator.shard import Outcome, PartOfTransaction, Waiter
from cluster.features import GROUP_VERSION
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.leave_group import LeaveGroupRequest
from protocol.messages.list_groups import ListedGroup
from protocol.messages.offset_commit import OffsetCommitRequest
from protocol.messages.offset_fetch import OffsetFetchRequestGroup
from protocol.messages.sync_group import SyncGroupRequest
from protocol.model import CONSUMER_OFFSETS_TOPIC, TopicPartition

Command = Callable[[GroupShard, int], Outcome]


class GroupCoordinator:
    """See the module. KafkaError is raised for what no shard needs to be asked about."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[GroupShard],
        metadata: MetadataCache,
        settings: GroupSettings,
        meters: GroupMeters,
        consumer_settings: ConsumerSettings,
    ) -> None:
        self.runtime = runtime
        self.meters = meters
        self._metadata = metadata
        self._settings = settings
        self._consumer_settings = consumer_settings

    def join(self, request: JoinGroupRequest, caller: Caller) -> None:
        """Answered with a JoinGroupResponse, when the members are gathered."""
        shortest, longest = (
            self._settings.min_session_timeout_ms(),
            self._settings.max_session_timeout_ms(),
        )
        _check_group_id(request.group_id)
        if not shortest <= request.session_timeout_ms <= longest:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        self._ask(
            request.group_id, lambda shard, now: shard.join(request, caller, now), caller.waiter
        )

    def sync(self, request: SyncGroupRequest, caller: Caller) -> None:
        """Answered with a SyncGroupResponse, when the leader has assigned."""
        _check_group_id(request.group_id)
        self._ask(
            request.group_id, lambda shard, now: shard.sync(request, caller, now), caller.waiter
        )

    def heartbeat(self, request: HeartbeatRequest, waiter: Waiter) -> None:
        """Answered with a HeartbeatResponse."""
        _check_group_id(request.group_id)
        self._ask(
            request.group_id, lambda shard, now: shard.heartbeat(request, waiter, now), waiter
        )

    def leave(self, request: LeaveGroupRequest, caller: Caller) -> None:
        """Answered with a MemberResponse for each that leaves."""
        _check_group_id(request.group_id)
        self._ask(
            request.group_id, lambda shard, now: shard.leave(request, caller, now), caller.waiter
        )

    def offset_commit(
        self, request: OffsetCommitRequest, topics: Sequence[TopicCommits], caller: Caller
    ) -> None:
        """Answered with the partitions of each topic."""
        self._ask(
            request.group_id,
            lambda shard, now: shard.commit(request, topics, caller, now),
            caller.waiter,
        )

    def txn_offset_commit(
        self,
        request: OffsetCommitRequest,
        topics: Sequence[TopicCommits],
        part: PartOfTransaction,
        waiter: Waiter,
    ) -> None:
        """Answered with the partitions of each topic."""
        self._ask(
            request.group_id,
            lambda shard, now: shard.commit_in_transaction(request, topics, part, waiter, now),
            waiter,
        )

    def partition_for(self, group_id: str) -> TopicPartition | None:
        """Where a group lives; None while the topic does not exist."""
        topic = self._metadata.topic(CONSUMER_OFFSETS_TOPIC)
        if topic is None:
            return None
        return TopicPartition(CONSUMER_OFFSETS_TOPIC, partition_of(group_id, len(topic.partitions)))

    def offset_fetch(
        self,
        wanted: OffsetFetchRequestGroup,
        topics: Sequence[TopicPartitions] | None,
        require_stable: bool,
        waiter: Waiter,
    ) -> None:
        """Answered with the offsets of each topic."""
        self._ask(
            wanted.group_id,
            lambda shard, _: shard.fetch(wanted, topics, require_stable, waiter),
            waiter,
        )

    def consumer_heartbeat(self, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> None:
        """Answered with a ConsumerGroupHeartbeatResponse, refusals that have a text included."""
        self.check_consumer_protocol()
        check_request(request, caller.version, self._consumer_settings.assignors)
        self._ask(
            request.group_id,
            lambda shard, now: shard.consumer_heartbeat(request, caller, now),
            caller.waiter,
        )

    def consumer_describe(self, group_id: str, waiter: Waiter) -> None:
        """Answered with a DescribedGroup of ConsumerGroupDescribe."""
        self._ask(group_id, lambda shard, _: shard.consumer_describe(group_id, waiter), waiter)

    def check_consumer_protocol(self) -> None:
        """UNSUPPORTED_VERSION where the cluster or the settings do without KIP-848."""
        is_agreed = self._metadata.features.level(GROUP_VERSION) > 0
        if not (is_agreed and self._consumer_settings.is_served):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def describe(self, group_id: str, version: int, waiter: Waiter) -> None:
        """Answered with a DescribedGroup."""
        self._ask(group_id, lambda shard, _: shard.describe(group_id, version, waiter), waiter)

    def delete(self, group_id: str, waiter: Waiter) -> None:
        """Answered with None."""
        self._ask(group_id, lambda shard, _: shard.delete(group_id, waiter), waiter)

    def offset_delete(
        self, group_id: str, topics: Sequence[TopicPartitions], waiter: Waiter
    ) -> None:
        """Answered with a code for each topic."""
        _check_group_id(group_id)
        self._ask(
            group_id,
            lambda shard, now: shard.delete_offsets(group_id, topics, waiter, now),
            waiter,
        )

    def listed(self) -> list[ListedGroup]:
        """All groups of this broker; COORDINATOR_LOAD_IN_PROGRESS while some are not known."""
        if self.runtime.is_loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return [group for shard in self.runtime.shards() for group in shard.reports.listed()]

    def topic_deleted(self, topic: str) -> None:
        """Have every group forget what it read of a topic that is no more."""
        for shard in list(self.runtime.shards()):
            self.runtime.submit(shard.index, lambda shard, now: shard.forget_topic(topic, now))

    def _ask(self, group_id: str, command: Command, waiter: Waiter) -> None:
        topic = self._metadata.topic(CONSUMER_OFFSETS_TOPIC)
        if topic is None:
            waiter.refuse(ErrorCode.NOT_COORDINATOR)
            return
        self.runtime.submit(partition_of(group_id, len(topic.partitions)), command, waiter)


def caller_of(context: RequestContext, waiter: Waiter) -> Caller:
    """Who asks, for what a group remembers of its members."""
    return Caller(waiter, context.client_id or "", f"/{context.client_host}", context.api_version)


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
