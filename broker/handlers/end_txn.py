"""EndTxn (26): commit or abort a transaction.

The answer comes as soon as the decision is safe; markers and completion follow by themselves. v2
PRODUCER_FENCED, in older versions INVALID_PRODUCER_EPOCH; v5 transactions v2: the answer tells what
to produce as from now on.
"""

from typing import Final

from broker.context import HandlerResult, RequestContext
from broker.coordinator.parked_reply import ParkedReply
from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.metadata import TRANSACTIONS_V2
from broker.coordinator.transaction.producer import Producer, ProducerIdAndEpoch
from broker.handlers.fenced_codes import told_to_version
from protocol.errors import ErrorCode
from protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

FIRST_VERSION_WITH_FENCED: Final = 2
FIRST_VERSION_OF_V2: Final = 5


def handle_end_txn(
    context: RequestContext, request: EndTxnRequest, *, transactions: TransactionCoordinator
) -> HandlerResult:
    """Decide the transaction."""
    version = context.api_version

    def answered(reply: ProducerIdAndEpoch) -> EndTxnResponse:
        return EndTxnResponse(producer_id=reply.producer_id, producer_epoch=reply.producer_epoch)

    def refused(code: ErrorCode) -> EndTxnResponse:
        told = told_to_version(code, version, FIRST_VERSION_WITH_FENCED)
        return EndTxnResponse(error_code=told, producer_id=-1, producer_epoch=-1)

    client = ParkedReply(answered, refused)
    transactions.end(
        Producer(request.transactional_id, request.producer_id, request.producer_epoch),
        request.committed,
        TRANSACTIONS_V2 if version >= FIRST_VERSION_OF_V2 else 0,
        client,
    )
    return client.parked
