"""InitProducerId (22): an id for an idempotent producer.

Without a transactional id every request gets a fresh id with epoch 0, whatever id and epoch it
names (KIP-360: such a producer starts over). A transactional id is refused with
UNSUPPORTED_VERSION: the answer has no message, clients take the code as fatal rather than retry,
and its text is the true one, where TRANSACTIONAL_ID_AUTHORIZATION_FAILED would send people to look
for a missing permission. Kafka itself answers so for parts of transactions that it does not serve.
"""

from collections.abc import Awaitable

from broker.context import RequestContext
from cluster.producer_ids import ProducerIdBlocks
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.model import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


def handle_init_producer_id(
    _context: RequestContext, request: InitProducerIdRequest, *, blocks: ProducerIdBlocks
) -> InitProducerIdResponse | Awaitable[InitProducerIdResponse]:
    """Give a fresh producer id, at once while the broker holds a block of them."""
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH) or request.transactional_id == "":
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    producer_id = blocks.next_id()
    if producer_id is None:
        return _answer_later(blocks)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


async def _answer_later(blocks: ProducerIdBlocks) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await blocks.wait_for_id(), producer_epoch=0)
