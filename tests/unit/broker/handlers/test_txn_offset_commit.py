"""Offsets in transactions, over a coordinator of groups and one of transactions."""

from typing import Any

import pytest

from broker.coordinator.partition_of import partition_of
from broker.coordinator.transaction.producer import Producer
from broker.handlers.offset_fetch import handle_offset_fetch
from broker.handlers.txn_offset_commit import handle_txn_offset_commit
from protocol.errors import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.model import CONSUMER_OFFSETS_TOPIC, TopicPartition
from tests.support.group_broker import GroupBroker
from tests.support.transactions import TransactionBroker

PLACE = TopicPartition(CONSUMER_OFFSETS_TOPIC, partition_of("g", 3))


class Both:
    """A broker with both coordinators and a topic t."""

    def __init__(self, partitions: int = 3) -> None:
        self.groups = GroupBroker(partitions=partitions)
        broker = self.groups.broker
        broker.create("t")
        self.one = TransactionBroker(
            broker=broker, runtimes={CONSUMER_OFFSETS_TOPIC: self.groups.runtime}
        )

    def commit(
        self, producer: Producer, offset: int, version: int = 3, topic: str = "t", **fields: Any
    ) -> int:
        partition = TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        request = TxnOffsetCommitRequest(
            **{
                "transactional_id": producer.transactional_id,
                "group_id": "g",
                "producer_id": producer.producer_id,
                "producer_epoch": producer.producer_epoch,
                "topics": [TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
                **fields,
            }
        )
        delivery = self.groups.ask(
            handle_txn_offset_commit,
            request,
            version,
            replicas=self.groups.broker.replicas,
            questions=self.one.questions,
        )
        return int(delivery.reply.topics[0].partitions[0].error_code)

    def fetch(self, *, stable: bool = False) -> tuple[int, int]:
        """(code, offset) of what the group has committed."""
        topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)], require_stable=stable
        )
        delivery = self.groups.ask(handle_offset_fetch, request, 8, metadata=self.groups.metadata)
        partition = delivery.reply.groups[0].topics[0].partitions[0]
        return partition.error_code, partition.committed_offset


@pytest.mark.parametrize(("commit", "offset"), [(True, 5), (False, -1)])
def test_offsets_count_once_the_transaction_commits(commit: bool, offset: int) -> None:
    both = Both()
    producer = both.one.begin()
    both.one.add(producer, PLACE)
    assert both.commit(producer, 5) == ErrorCode.NONE
    assert both.fetch() == (0, -1)
    assert both.fetch(stable=True)[0] == ErrorCode.UNSTABLE_OFFSET_COMMIT
    both.one.end(producer, commit=commit)
    assert both.fetch(stable=True) == (0, offset)


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_the_groups_partition_has_to_be_part_of_the_transaction(
    version: int, code: ErrorCode
) -> None:
    both = Both()
    assert both.commit(both.one.begin(), 5, version) == code


def test_by_the_second_protocol_it_joins() -> None:
    both = Both()
    producer = both.one.begin()
    assert both.commit(producer, 5, 5) == ErrorCode.NONE
    assert both.one.transaction().partitions == {PLACE}
    both.one.end(producer, commit=True, version=2)
    assert both.fetch(stable=True) == (0, 5)


def test_a_fenced_producer_commits_nothing() -> None:
    both = Both()
    old = both.one.begin()
    both.one.begin()
    assert both.commit(old, 5, 5) == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"topic": "who"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"generation_id": 3, "member_id": "m"}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_what_may_not_be_committed_is_refused(fields: dict[str, Any], code: ErrorCode) -> None:
    both = Both()
    assert both.commit(both.one.begin(), 5, 5, **fields) == code


def test_a_zombie_of_the_group_is_refused_and_its_member_is_not() -> None:
    both = Both()
    member_id = both.groups.member()
    producer = both.one.begin()
    zombie: dict[str, Any] = {"member_id": member_id, "generation_id": 0}
    assert both.commit(producer, 5, 5, **zombie) == ErrorCode.ILLEGAL_GENERATION
    stranger: dict[str, Any] = {"member_id": "who", "generation_id": 1}
    assert both.commit(producer, 5, 5, **stranger) == ErrorCode.UNKNOWN_MEMBER_ID
    member: dict[str, Any] = {"member_id": member_id, "generation_id": 1}
    assert both.commit(producer, 5, 5, **member) == ErrorCode.NONE


def test_without_the_topic_of_groups_nobody_coordinates() -> None:
    both = Both(partitions=0)
    assert both.commit(both.one.begin(), 5, 5) == ErrorCode.NOT_COORDINATOR
