"""TxnOffsetCommit (28): offsets of a group that count once the transaction commits.

They are written to the group's partition of `__consumer_offsets` as part of the transaction, which
has to include that partition: below v5 AddOffsetsToTxn came before and is asked about, v5
(transactions v2) has it join here. From v3 on the member that commits is checked (KIP-447). v2 is
the first that knows COORDINATOR_LOAD_IN_PROGRESS, v4 TRANSACTION_ABORTABLE.
"""

from collections.abc import Sequence
from typing import Final

from broker.context import Parked, RequestContext
from broker.coordinator.group.coordinator import GroupCoordinator
from broker.coordinator.group.offset_commands import TopicCommits
from broker.coordinator.parked_reply import ParkedReply
from broker.coordinator.runtime import coordinator_error
from broker.coordinator.shard import PartOfTransaction, Waiter, Writer
from broker.coordinator.transaction.asking import Manner, Refused, TransactionQuestions
from broker.coordinator.transaction.metadata import TRANSACTIONS_V2
from broker.coordinator.transaction.producer import Producer
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponsePartition,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from protocol.model import NO_SEQUENCE
from storage.producer.verification import NO_TERMS, TransactionTerms, Verification

FIRST_VERSION_WITH_LOADING: Final = 2
FIRST_VERSION_THAT_KNOWS_ABORTABLE: Final = 4
FIRST_VERSION_OF_V2: Final = 5

Answers = Sequence[Sequence[OffsetCommitResponsePartition]]


def handle_txn_offset_commit(
    context: RequestContext,
    request: TxnOffsetCommitRequest,
    *,
    groups: GroupCoordinator,
    replicas: ReplicaManager,
    questions: TransactionQuestions,
) -> Parked | TxnOffsetCommitResponse:
    """Have the offsets in topics that exist become part of the transaction."""
    version = context.api_version
    response = TxnOffsetCommitResponse()
    known: list[TxnOffsetCommitRequestTopic] = []
    commits: list[TopicCommits] = []
    for topic in request.topics:
        image = replicas.metadata.topic(topic.name)
        if image is None:
            response.topics.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            known.append(topic)
            commits.append(TopicCommits(image.name, image.topic_id, _partitions(topic)))
    if request.topics and not known:
        return response

    def answered(answers: Answers) -> TxnOffsetCommitResponse:
        for topic, partitions in zip(known, answers, strict=True):
            response.topics.append(_answered(topic, partitions))
        return response

    def refused(code: ErrorCode) -> TxnOffsetCommitResponse:
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < FIRST_VERSION_WITH_LOADING:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        response.topics += [_refused(topic, code) for topic in known]
        return response

    client: ParkedReply[Answers] = ParkedReply(answered, refused)
    if not request.group_id:
        client.refuse(ErrorCode.INVALID_GROUP_ID)
    else:
        commit = _Commit(request, commits, groups, client)
        commit.ask(_manner_of(version), replicas, questions)
    return client.parked


class _Commit:
    """One request between the question and the write."""

    __slots__ = ("_client", "_commits", "_groups", "_request")

    def __init__(
        self,
        request: TxnOffsetCommitRequest,
        commits: Sequence[TopicCommits],
        groups: GroupCoordinator,
        client: Waiter,
    ) -> None:
        self._request = request
        self._commits = commits
        self._groups = groups
        self._client = client

    def ask(
        self, manner: Manner, replicas: ReplicaManager, questions: TransactionQuestions
    ) -> None:
        """Write at once where the group's partition knows the transaction; else ask before."""
        request = self._request
        partition = self._groups.partition_for(request.group_id)
        if partition is None:
            self._client.refuse(ErrorCode.NOT_COORDINATOR)
            return
        is_v2 = manner is Manner.JOINS
        asked = Verification(NO_SEQUENCE, request.producer_epoch, is_v2, questions.clock.now_ms())
        try:
            log = replicas.hosted(partition).leader_log()
            presented = (
                log.start_verification(request.producer_id, asked)
                if questions.is_asked(manner)
                else None
            )
        except KafkaError as error:
            self._client.refuse(coordinator_error(error.code))
            return
        if presented is None:
            self._write(NO_TERMS)
            return
        terms = TransactionTerms(presented, TRANSACTIONS_V2 if is_v2 else 0)

        def told(refused: Refused) -> None:
            error = refused.get(partition)
            if error is None:
                self._write(terms)
            else:
                self._client.refuse(error.code)

        producer = Producer(request.transactional_id, request.producer_id, request.producer_epoch)
        questions.ask(producer, [partition], manner, told)

    def _write(self, terms: TransactionTerms) -> None:
        request = self._request
        plain = OffsetCommitRequest(
            group_id=request.group_id,
            generation_id_or_member_epoch=request.generation_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
        )
        writer = Writer(request.producer_id, request.producer_epoch)
        part = PartOfTransaction(writer, terms)
        self._groups.txn_offset_commit(plain, self._commits, part, self._client)


def _manner_of(version: int) -> Manner:
    if version >= FIRST_VERSION_OF_V2:
        return Manner.JOINS
    return Manner.KNOWS_ABORTABLE if version >= FIRST_VERSION_THAT_KNOWS_ABORTABLE else Manner.OLD


def _partitions(topic: TxnOffsetCommitRequestTopic) -> list[OffsetCommitRequestPartition]:
    return [
        OffsetCommitRequestPartition(
            partition_index=one.partition_index,
            committed_offset=one.committed_offset,
            committed_leader_epoch=one.committed_leader_epoch,
            committed_metadata=one.committed_metadata,
        )
        for one in topic.partitions
    ]


def _answered(
    topic: TxnOffsetCommitRequestTopic, partitions: Sequence[OffsetCommitResponsePartition]
) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            TxnOffsetCommitResponsePartition(
                partition_index=one.partition_index, error_code=one.error_code
            )
            for one in partitions
        ],
    )


def _refused(topic: TxnOffsetCommitRequestTopic, code: ErrorCode) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
            for one in topic.partitions
        ],
    )
