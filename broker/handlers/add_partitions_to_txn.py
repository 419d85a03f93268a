"""AddPartitionsToTxn (24): partitions join a transaction before they are written to.

v0 to v3 are a client's, about one transaction: a partition that does not exist has its own code,
and the others OPERATION_NOT_ATTEMPTED. v4 and later are brokers', about many; VerifyOnly asks
whether the partitions have joined, TRANSACTION_ABORTABLE says they have not. v2 PRODUCER_FENCED, in
older versions INVALID_PRODUCER_EPOCH.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from broker.context import Parked, RequestContext
from broker.coordinator.parked_reply import Gathering, ParkedReply
from broker.coordinator.shard import Waiter
from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.metadata import TRANSACTIONS_V2
from broker.coordinator.transaction.producer import Producer
from broker.handlers.fenced_codes import told_to_version
from cluster.metadata_cache import MetadataCache
from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    FIRST_VERSION_OF_BROKERS,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from protocol.model import TopicPartition
from protocol.schema.message import Failure

FIRST_VERSION_WITH_FENCED: Final = 2

Codes = Mapping[TopicPartition, ErrorCode]
Joined = Sequence[TopicPartition] | Codes | ErrorCode | None
"""What became of a transaction: None or partitions that are not in it; or codes."""


def handle_add_partitions_to_txn(
    context: RequestContext,
    request: AddPartitionsToTxnRequest,
    *,
    transactions: TransactionCoordinator,
    metadata: MetadataCache,
) -> Parked:
    """Have the partitions of each transaction join it, or say which have."""
    version = context.api_version
    wanted = request.wanted_transactions(version)

    def joined(outcomes: Sequence[Joined]) -> AddPartitionsToTxnResponse:
        results = [
            _result(one, _codes(one, outcome))
            for one, outcome in zip(wanted, outcomes, strict=True)
        ]
        return AddPartitionsToTxnResponse.telling(version, results)

    def told(code: ErrorCode) -> Joined:
        return told_to_version(code, version, FIRST_VERSION_WITH_FENCED)

    client: ParkedReply[Sequence[Joined]] = ParkedReply(
        joined, lambda code: request.refusal(Failure(version, code, None))
    )
    gathering: Gathering[Joined] = Gathering(client, len(wanted))
    for position, one in enumerate(wanted):
        partitions = _partitions(one)
        unknown = [each for each in partitions if metadata.partition(each) is None]
        if unknown:
            codes = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
            codes.update(dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            gathering.told(position, codes)
        else:
            _ask(transactions, one, partitions, version, gathering.part(position, told))
    return client.parked


def _ask(
    transactions: TransactionCoordinator,
    wanted: AddPartitionsToTxnTransaction,
    partitions: Sequence[TopicPartition],
    version: int,
    waiter: Waiter,
) -> None:
    producer = Producer(wanted.transactional_id, wanted.producer_id, wanted.producer_epoch)
    if wanted.verify_only:
        transactions.verify_partitions(producer, partitions, waiter)
    else:
        protocol = TRANSACTIONS_V2 if version >= FIRST_VERSION_OF_BROKERS else 0
        transactions.add_partitions(producer, partitions, protocol, waiter)


def _partitions(wanted: AddPartitionsToTxnTransaction) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, index) for topic in wanted.topics for index in topic.partitions
    ]


def _codes(wanted: AddPartitionsToTxnTransaction, outcome: Joined) -> Codes:
    if outcome is None:
        return {}
    if isinstance(outcome, ErrorCode):
        return dict.fromkeys(_partitions(wanted), outcome)
    if isinstance(outcome, Mapping):
        return outcome
    return dict.fromkeys(outcome, ErrorCode.TRANSACTION_ABORTABLE)


def _result(wanted: AddPartitionsToTxnTransaction, codes: Codes) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        transactional_id=wanted.transactional_id,
        topic_results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index,
                        partition_error_code=codes.get(
                            TopicPartition(topic.name, index), ErrorCode.NONE
                        ),
                    )
                    for index in topic.partitions
                ],
            )
            for topic in wanted.topics
        ],
    )
