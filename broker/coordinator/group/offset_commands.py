"""What is asked of committed offsets: commit, fetch, delete, and forget with time.

Who may commit is for the group's own kind to say; a group id that nobody has used becomes a simple
group by its first commit. Offsets end

    empty classic group         a retention after it became empty
    KIP-848 group               a retention after the commit, in topics nobody subscribes to
    stable consumer group       a retention after the commit, in topics nobody subscribes to
    simple group                a retention after the commit

or at a time of their own that an old client gave. A group that is left with nothing goes too.
Source: OffsetMetadataManager, ClassicGroup.offsetExpirationCondition (4.3), KIP-211, KIP-447.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from broker.coordinator.group.classic import ClassicGroups
from broker.coordinator.group.classic_group import CONSUMER, ClassicGroup, GroupState
from broker.coordinator.group.classic_records import group_tombstone
from broker.coordinator.group.consumer import ConsumerGroups
from broker.coordinator.group.consumer_group import ConsumerGroup
from broker.coordinator.group.consumer_group import GroupState as ConsumerGroupState
from broker.coordinator.group.offset_records import NEVER, CommittedOffset
from broker.coordinator.group.offsets import OffsetStore, OffsetToCommit, tombstone
from broker.coordinator.group.settings import GroupSettings
from broker.coordinator.group.turn import Turn
from broker.coordinator.shard import CoordinatorRecord, Outcome, Waiter
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponsePartition,
)
from protocol.messages.offset_fetch import OffsetFetchResponsePartition, OffsetFetchResponseTopic
from protocol.model import NO_LEADER_EPOCH, NO_OFFSET

_logger = logging.getLogger(__name__)

FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND: Final = 9
NO_RETENTION: Final = -1
GROUPS_A_STEP: Final = 200
RECORDS_A_STEP: Final = 1000
"""An expiry writes this much at a time, far below what one batch may hold."""
MINUTE_MS: Final = 60_000
_EMPTY: Final = (GroupState.EMPTY, ConsumerGroupState.EMPTY)


TopicPartitions = tuple[str, Sequence[int]]


class TopicCommits(NamedTuple):
    """What a request commits in one topic that exists."""

    name: str
    topic_id: bytes
    partitions: Sequence[OffsetCommitRequestPartition]


class OffsetCommands:
    """Decides over a store; see the module."""

    def __init__(
        self,
        offsets: OffsetStore,
        classic: ClassicGroups,
        consumer: ConsumerGroups,
        settings: GroupSettings,
    ) -> None:
        self._offsets = offsets
        self._classic = classic
        self._consumer = consumer
        self._settings = settings
        self._to_look_at: list[str] = []

    # Committing.

    def commit(
        self,
        request: OffsetCommitRequest,
        topics: Sequence[TopicCommits],
        waiter: Waiter,
        turn: Turn,
    ) -> Outcome:
        """Remember offsets that may be committed; answers the partitions of each topic."""
        now_ms, retention_ms = turn.now_ms, request.retention_time_ms
        expires_ms = NEVER if retention_ms == NO_RETENTION else now_ms + retention_ms
        answers = []
        for topic in topics:
            commits, answer = self._sifted(topic.partitions)
            turn.records += self._offsets.commit(
                request.group_id, topic.name, topic.topic_id, commits, now_ms, expires_ms
            )
            answers.append(answer)
        turn.tell(waiter, answers)
        return turn

    def check_commit(self, request: OffsetCommitRequest, version: int, turn: Turn) -> None:
        """Whether the request's member may commit, which is a sign of its life; KafkaError."""
        generation = request.generation_id_or_member_epoch
        group = self._classic.groups.get(request.group_id)
        if group is not None:
            self._classic.check_commit(
                group, request.member_id, generation, request.group_instance_id, turn
            )
        elif self._offsets.has_offsets(request.group_id):
            if generation >= 0:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        elif generation >= 0:
            is_known = version >= FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND if is_known else ErrorCode.ILLEGAL_GENERATION
            )

    def check_transactional(self, request: OffsetCommitRequest) -> None:
        """Whether a transaction may hold offsets in this name (KIP-447); KafkaError."""
        generation = request.generation_id_or_member_epoch
        group = self._classic.groups.get(request.group_id)
        if group is not None:
            self._classic.check_commit(
                group, request.member_id, generation, request.group_instance_id, None
            )
        elif generation >= 0:
            is_simple = self._offsets.has_offsets(request.group_id)
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID if is_simple else ErrorCode.ILLEGAL_GENERATION
            )

    def _sifted(
        self, partitions: Sequence[OffsetCommitRequestPartition]
    ) -> tuple[list[OffsetToCommit], list[OffsetCommitResponsePartition]]:
        """What to commit of them, and what to answer: notes may be too long."""
        limit = self._settings.metadata_max_bytes()
        commits, answers = [], []
        for one in partitions:
            metadata = one.committed_metadata or ""
            code = ErrorCode.NONE
            if len(metadata) > limit:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                commits.append(
                    OffsetToCommit(
                        one.partition_index,
                        one.committed_offset,
                        one.committed_leader_epoch,
                        metadata,
                    )
                )
            answers.append(
                OffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
            )
        return commits, answers

    # Fetching.

    def fetch(
        self,
        group_id: str,
        topics: Sequence[TopicPartitions] | None,
        require_stable: bool,
    ) -> list[OffsetFetchResponseTopic]:
        """The offsets of some partitions, or of all that have one; no offset is -1, no error."""
        if topics is None:
            topics = [
                (topic, list(partitions))
                for topic, partitions in self._offsets.topics(group_id).items()
            ]
        return [
            OffsetFetchResponseTopic(
                name=topic,
                partitions=[
                    self._fetched(group_id, topic, partition, require_stable)
                    for partition in partitions
                ],
            )
            for topic, partitions in topics
        ]

    def _fetched(
        self, group_id: str, topic: str, partition: int, require_stable: bool
    ) -> OffsetFetchResponsePartition:
        if require_stable and self._offsets.is_pending(group_id, topic, partition):
            return no_offset(partition, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        committed = self._offsets.committed(group_id, topic, partition)
        if committed is None:
            return no_offset(partition)
        return OffsetFetchResponsePartition(
            partition_index=partition,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
        )

    # Deleting.

    def delete_group(self, group_id: str) -> list[CoordinatorRecord]:
        """Forget a group and its offsets; GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP."""
        consumer = self._consumer.groups.get(group_id)
        if consumer is not None:
            of_group = self._consumer.tombstones(consumer)
            return [*self._offsets.tombstones(group_id), *of_group]
        group = self._classic.groups.get(group_id)
        if group is None and not self._offsets.has_offsets(group_id):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if group is not None and group.state is not GroupState.EMPTY:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        return [*self._offsets.tombstones(group_id), group_tombstone(group_id)]

    def delete_offsets(
        self, group_id: str, topics: Sequence[TopicPartitions], turn: Turn
    ) -> list[ErrorCode]:
        """Forget some offsets; a code for each topic. KafkaError refuses them all."""
        group = self._group(group_id)
        if group is None and not self._offsets.has_offsets(group_id):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if (
            isinstance(group, ClassicGroup)
            and group.state is not GroupState.EMPTY
            and group.protocol_type != CONSUMER
        ):
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        codes = []
        for topic, partitions in topics:
            if group is not None and group.is_subscribed(topic):
                codes.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
                continue
            codes.append(ErrorCode.NONE)
            known = self._offsets.topics(group_id).get(topic, {})
            turn.records += [tombstone(group_id, topic, one) for one in partitions if one in known]
        return codes

    # Forgetting with time.

    def expire(self, turn: Turn) -> bool:
        """Look at some groups; whether there are more to look at."""
        if not self._to_look_at:
            groups = self._classic.groups.keys() | self._consumer.groups.keys()
            self._to_look_at = [*groups.union(self._offsets.groups())]
        for _ in range(GROUPS_A_STEP):
            if not self._to_look_at or len(turn.records) >= RECORDS_A_STEP:
                break
            turn.records += self._expired(self._to_look_at.pop(), turn.now_ms)
        return bool(self._to_look_at)

    def forget_topic(self, topic: str, turn: Turn) -> bool:
        """A topic is gone, and what was read of it; whether there may be more to forget."""
        turn.records += self._offsets.tombstones_of_topic(topic, RECORDS_A_STEP)
        return len(turn.records) == RECORDS_A_STEP

    def _expired(self, group_id: str, now_ms: int) -> list[CoordinatorRecord]:
        group = self._group(group_id)
        counts_from = _retention_start(group)
        if counts_from is None:
            return []
        retention_ms = self._settings.retention_minutes() * MINUTE_MS

        def has_expired(committed: CommittedOffset) -> bool:
            if committed.expires_ms != NEVER:
                return now_ms >= committed.expires_ms
            return now_ms - counts_from(committed) >= retention_ms

        def is_subscribed(topic: str) -> bool:
            return group is not None and group.is_subscribed(topic)

        gone, nothing_left = self._offsets.expired(group_id, is_subscribed, has_expired)
        if nothing_left and (group is None or group.state in _EMPTY):
            _logger.info("Group %s is forgotten: none of its offsets is left", group_id)
            if isinstance(group, ConsumerGroup):
                gone += self._consumer.tombstones(group)
            else:
                gone.append(group_tombstone(group_id))
        elif gone:
            _logger.info("Forgetting %d offsets of group %s", len(gone), group_id)
        return gone

    def _group(self, group_id: str) -> ClassicGroup | ConsumerGroup | None:
        return self._consumer.groups.get(group_id) or self._classic.groups.get(group_id)


def no_offset(partition: int, code: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartition:
    """What is told of a partition whose offset is not."""
    return OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=NO_LEADER_EPOCH,
        metadata="",
        error_code=code,
    )


def _retention_start(
    group: ClassicGroup | ConsumerGroup | None,
) -> Callable[[CommittedOffset], int] | None:
    """From when the retention of an offset counts; None while offsets of the group stay."""

    def from_commit(committed: CommittedOffset) -> int:
        return committed.committed_ms

    if not isinstance(group, ClassicGroup) or group.protocol_type is None:
        return from_commit
    if group.state is GroupState.EMPTY:
        since_ms = group.state_since_ms
        return from_commit if since_ms is None else lambda _: since_ms
    if group.state is GroupState.STABLE and group.knows_subscriptions:
        return from_commit
    return None
