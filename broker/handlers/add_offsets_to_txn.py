"""AddOffsetsToTxn (25): a group's offsets join a transaction before they are committed.

The partition of `__consumer_offsets` that the group lives in joins it, as any partition would.
Producers of transactions v2 do not ask: TxnOffsetCommit has it join. v2 PRODUCER_FENCED, in older
versions INVALID_PRODUCER_EPOCH.
"""

from collections.abc import Callable
from typing import Final

from broker.context import HandlerResult, RequestContext
from broker.coordinator.parked_reply import ParkedReply
from broker.coordinator.partition_of import partition_of
from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.producer import Producer
from broker.handlers.fenced_codes import told_to_version
from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from protocol.model import CONSUMER_OFFSETS_TOPIC, TopicPartition

FIRST_VERSION_WITH_FENCED: Final = 2


def handle_add_offsets_to_txn(
    context: RequestContext,
    request: AddOffsetsToTxnRequest,
    *,
    transactions: TransactionCoordinator,
    offsets_partitions: Callable[[], int],
) -> HandlerResult:
    """Have the group's partition join; `offsets_partitions()` of them there are, or will be."""
    version = context.api_version

    def refused(code: ErrorCode) -> AddOffsetsToTxnResponse:
        told = told_to_version(code, version, FIRST_VERSION_WITH_FENCED)
        return AddOffsetsToTxnResponse(error_code=told)

    client: ParkedReply[None] = ParkedReply(lambda _: AddOffsetsToTxnResponse(), refused)
    index = partition_of(request.group_id, offsets_partitions())
    transactions.add_partitions(
        Producer(request.transactional_id, request.producer_id, request.producer_epoch),
        [TopicPartition(CONSUMER_OFFSETS_TOPIC, index)],
        0,
        client,
    )
    return client.parked
