"""KIP-848 groups on a table: members heartbeat, topics come and go, time is moved by hand.

groups = ConsumerTable(t=4)      a topic t of four partitions
groups.come("A", ["t"])          what A is told: "2: t0 t1 t2 t3", epoch and assignment
groups.beat("A")                 "2", nothing new; by default in the epoch A was told last
groups.written()                 records since this was asked last: "5 A", "3 epoch 2", …
"""

from collections.abc import Mapping, Sequence
from typing import Any

from broker.coordinator.group.consumer_group import ConsumerGroup
from broker.coordinator.group.turn import Caller
from cluster.controller.messages import (
    LEADER_DURING_DELETE,
    Endpoint,
    LiveBroker,
    MetadataUpdate,
    PartitionMetadata,
)
from protocol.errors import ErrorCode
from protocol.internal.consumer_offsets import RECORDS
from protocol.messages.consumer_group_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.messages.join_group import JoinGroupResponse
from protocol.messages.offset_fetch import OffsetFetchRequestGroup
from protocol.model import TopicId, TopicPartition
from tests.support.group_shard import Answer, GroupTable, Values

REBALANCE_MS = 300_000
Places = Sequence[str]
"""Partitions of topics with names of one letter: "t0"."""


class ConsumerTable(GroupTable):
    """See the module."""

    def __init__(self, values: Values | None = None, **topics: int) -> None:
        super().__init__(values)
        self.epochs: dict[str, int] = {}
        self.replies: dict[str, ConsumerGroupHeartbeatResponse] = {}
        self._count = 0
        self._read = 0
        for name, partitions in topics.items():
            self.create_topic(name, partitions)

    # The cluster.

    def create_topic(self, name: str, partitions: int) -> TopicId:
        """Make a topic, or add partitions to it."""
        image = self.metadata.topic(name)
        if image is None:
            self._count += 1
        topic_id = b"%016d" % self._count if image is None else image.topic_id
        self._tell([self._partition(name, topic_id, one, 1) for one in range(partitions)])
        return topic_id

    def delete_topic(self, name: str) -> None:
        image = self.metadata.topic(name)
        assert image is not None
        self._tell(
            [
                self._partition(name, image.topic_id, one.partition, LEADER_DURING_DELETE)
                for one in image.partitions
            ]
        )

    def _partition(self, name: str, topic_id: bytes, index: int, leader: int) -> PartitionMetadata:
        return PartitionMetadata(TopicPartition(name, index), topic_id, leader, 0, (1,), 0, (1,))

    def _tell(self, partitions: list[PartitionMetadata]) -> None:
        brokers = (LiveBroker(1, {"PLAINTEXT": Endpoint("localhost", 9092)}, "rack-1"),)
        self.metadata.apply(MetadataUpdate(1, brokers, tuple(partitions)))

    def places(self, partitions: Mapping[TopicId, Any]) -> list[str]:
        """Partitions by topic id in short."""
        names = {image.topic_id: name for name, image in self.metadata.topics().items()}
        return sorted(
            f"{names.get(topic, '?')}{partition}"
            for topic, numbers in partitions.items()
            for partition in numbers
        )

    def reported(self, places: Places) -> list[TopicPartitions]:
        """The other way round, as a client says it."""
        by_topic: dict[str, list[int]] = {}
        for place in places:
            by_topic.setdefault(place[0], []).append(int(place[1:]))
        images = {name: self.metadata.topic(name) for name in by_topic}
        return [
            TopicPartitions(topic_id=image.topic_id if image else b"?" * 16, partitions=numbers)
            for (name, numbers), image in zip(by_topic.items(), images.values(), strict=True)
        ]

    # The members.

    def send(
        self, member_id: str, epoch: int, *, group: str = "g", version: int = 1, **fields: Any
    ) -> str:
        """One heartbeat, and the answer in short."""
        if fields.get("topic_partitions") is not None:
            fields["topic_partitions"] = self.reported(fields["topic_partitions"])
        request = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=member_id, member_epoch=epoch, **fields
        )
        answer = Answer(member_id, [])
        caller = Caller(answer, "client", "/127.0.0.1", version)
        self.run(lambda shard, now: shard.consumer_heartbeat(request, caller, now), answer)
        reply = answer.reply
        if isinstance(reply, ErrorCode):
            return reply.name
        assert isinstance(reply, ConsumerGroupHeartbeatResponse)
        if reply.error_code:
            self.replies[member_id] = reply
            return ErrorCode(reply.error_code).name
        name = reply.member_id or ""
        self.epochs[name], self.replies[name] = reply.member_epoch, reply
        if reply.assignment is None:
            return str(reply.member_epoch)
        assigned = {one.topic_id: one.partitions for one in reply.assignment.topic_partitions}
        return " ".join([f"{reply.member_epoch}:", *self.places(assigned)])

    def come(self, member_id: str, topics: Sequence[str] | None = ("t",), **fields: Any) -> str:
        """Become a member, or do so again."""
        names = None if topics is None else list(topics)
        fields = {"rebalance_timeout_ms": REBALANCE_MS, "topic_partitions": [], **fields}
        return self.send(member_id, JOIN_EPOCH, subscribed_topic_names=names, **fields)

    def beat(self, member_id: str, owned: Places | None = None, **fields: Any) -> str:
        """Report what is owned, if anything is said of it."""
        epoch = fields.pop("epoch", self.epochs.get(member_id, 1))
        return self.send(member_id, epoch, topic_partitions=owned, **fields)

    def leave_group(self, member_id: str, **fields: Any) -> str:
        return self.send(member_id, LEAVE_EPOCH, **fields)

    def leave_for_a_while(self, member_id: str, instance_id: str, **fields: Any) -> str:
        return self.send(member_id, LEAVE_FOR_A_WHILE_EPOCH, instance_id=instance_id, **fields)

    def fetch(self, member_id: str | None = None, epoch: int = -1, *, group: str = "g") -> object:
        """All offsets of the group, or the refusal."""
        wanted = OffsetFetchRequestGroup(group_id=group, member_id=member_id, member_epoch=epoch)
        answer = Answer("fetch", [])
        self.run(lambda shard, _: shard.fetch(wanted, None, False, answer), answer)
        return answer.reply

    def delete(self, group: str) -> object:
        """DeleteGroups: None, or the refusal."""
        answer = Answer("delete", [])
        self.run(lambda shard, _: shard.delete(group, answer), answer)
        return answer.reply

    def join_classic(self, name: str, member_id: str = "") -> Answer:
        """JoinGroup in the same group; refusals come as responses."""
        answer = self.join(name, member_id)
        if isinstance(answer.reply, ErrorCode):
            answer.reply = JoinGroupResponse(error_code=answer.reply)
        return answer

    # What became of it.

    def group(self, group_id: str = "g") -> ConsumerGroup:
        return self.shard.consumer.groups[group_id]

    def error(self, member_id: str) -> str | None:
        """The text of the last answer, where it was a refusal."""
        return self.replies[member_id].error_message

    def written(self) -> list[str]:
        """Records since this was asked last."""
        new, self._read = self.log[self._read :], len(self.log)
        return [_words(record.key, record.value) for record, _ in new]


def _words(key_bytes: bytes, value_bytes: bytes | None) -> str:
    record_type, key = RECORDS.decode_key(key_bytes)
    _, value = RECORDS.decode_value(record_type, value_bytes)
    fields = (getattr(key, name, None) for name in ("member_id", "regular_expression"))
    words = [str(record_type), *(one for one in fields if one)]
    if value is None:
        return " ".join([*words, "gone"])
    told = ("epoch", "assignment_epoch", "member_epoch", "previous_member_epoch", "state")
    words += [f"{name} {getattr(value, name)}" for name in told if hasattr(value, name)]
    return " ".join(words)


def state_of(group: ConsumerGroup) -> dict[str, Any]:
    """Everything that records tell of a group."""
    return {name: value for name, value in vars(group).items() if name != "subscriptions_version"}
