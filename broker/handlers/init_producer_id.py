"""InitProducerId (22): an id for an idempotent or a transactional producer.

Without a transactional id every request gets a fresh id with epoch 0, whatever id and epoch it
names (KIP-360: such a producer starts over). With one it is the coordinator's to say; v3 the
producer may name what it has, v4 PRODUCER_FENCED, in older versions INVALID_PRODUCER_EPOCH.
"""

from typing import Final

from broker.context import HandlerResult, Parked, Reply, RequestContext
from broker.coordinator.parked_reply import ParkedReply
from broker.coordinator.transaction.coordinator import Start, TransactionCoordinator
from broker.coordinator.transaction.opening import Claim
from broker.coordinator.transaction.producer import ProducerIdAndEpoch
from broker.handlers.fenced_codes import told_to_version
from broker.turns import reply_of
from cluster.producer_ids import ProducerIdBlocks
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.model import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

FIRST_VERSION_WITH_FENCED: Final = 4


def handle_init_producer_id(
    context: RequestContext,
    request: InitProducerIdRequest,
    *,
    blocks: ProducerIdBlocks,
    transactions: TransactionCoordinator,
) -> HandlerResult:
    """Give an id and an epoch, at once while the broker holds a block of ids."""
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH) or request.transactional_id == "":
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST)
    version = context.api_version
    if not blocks.at_hand:
        return _answer_later(request, version, blocks, transactions)
    return _answer(request, version, blocks, transactions)


def _answer(
    request: InitProducerIdRequest,
    version: int,
    blocks: ProducerIdBlocks,
    transactions: TransactionCoordinator,
) -> InitProducerIdResponse | Parked:
    if request.transactional_id is None:
        producer_id = blocks.next_id()
        if producer_id is None:
            return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)

    def answered(reply: ProducerIdAndEpoch) -> InitProducerIdResponse:
        return InitProducerIdResponse(
            producer_id=reply.producer_id, producer_epoch=reply.producer_epoch
        )

    def refused(code: ErrorCode) -> InitProducerIdResponse:
        told = told_to_version(code, version, FIRST_VERSION_WITH_FENCED)
        return InitProducerIdResponse(error_code=told)

    client = ParkedReply(answered, refused)
    claim = Claim(request.transactional_id, request.producer_id, request.producer_epoch)
    transactions.init_producer_id(Start(claim, request.transaction_timeout_ms), client)
    return client.parked


async def _answer_later(
    request: InitProducerIdRequest,
    version: int,
    blocks: ProducerIdBlocks,
    transactions: TransactionCoordinator,
) -> Reply:
    await blocks.wait()
    result = _answer(request, version, blocks, transactions)
    return await reply_of(result) if isinstance(result, Parked) else result
