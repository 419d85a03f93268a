import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

import pytest

from broker.context import HandlerResult, Parked
from broker.handlers.init_producer_id import handle_init_producer_id
from broker.turns import reply_of
from cluster.producer_ids import ProducerIdBlocks
from cluster.store.opening import create_root_paths
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.support.contexts import context
from tests.support.fake_store import FakeStore
from tests.support.replicas import Delivery
from tests.support.transactions import TransactionBroker


def respond(some: ProducerIdBlocks, request: InitProducerIdRequest) -> HandlerResult:
    transactions = TransactionBroker()
    return handle_init_producer_id(
        context(5), request, blocks=some, transactions=transactions.coordinator
    )


async def blocks() -> ProducerIdBlocks:
    store = FakeStore()
    await create_root_paths(store, "c")

    def spawn(name: str, work: Coroutine[Any, Any, None]) -> object:
        return asyncio.ensure_future(work)

    return ProducerIdBlocks(store, 1, spawn)


async def init(some: ProducerIdBlocks, **fields: Any) -> tuple[int, int, int]:
    request = InitProducerIdRequest(**{"transactional_id": None, **fields})
    result = respond(some, request)
    if isinstance(result, Parked):
        response = await reply_of(result)
    else:
        response = await result if isinstance(result, Awaitable) else result
    assert isinstance(response, InitProducerIdResponse)
    return response.error_code, response.producer_id, response.producer_epoch


async def test_every_idempotent_producer_gets_a_fresh_id_and_epoch_zero() -> None:
    some = await blocks()
    assert await init(some) == (0, 0, 0)
    assert await init(some, producer_id=0, producer_epoch=4) == (0, 1, 0)


async def test_once_a_block_is_there_the_answer_is_immediate() -> None:
    some = await blocks()
    await init(some)
    request = InitProducerIdRequest(transactional_id=None)
    response = respond(some, request)
    assert isinstance(response, InitProducerIdResponse)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": "t"}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_served_is_refused_for_good(
    fields: dict[str, Any], code: ErrorCode
) -> None:
    assert await init(await blocks(), **fields) == (code, -1, -1)
    assert not code.retriable


async def test_a_transactional_id_is_coordinated() -> None:
    some = await blocks()
    fields = {"transactional_id": "id", "transaction_timeout_ms": 1000}
    assert await init(some, **fields) == (0, 1000, 0)


async def test_who_is_fenced_is_told_in_the_words_of_the_version() -> None:
    some = await blocks()
    await some.wait()
    one = TransactionBroker()
    one.start()
    request = InitProducerIdRequest(
        transactional_id="id", transaction_timeout_ms=1000, producer_id=7, producer_epoch=7
    )
    for version, code in ((3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)):
        result = handle_init_producer_id(
            context(version), request, blocks=some, transactions=one.coordinator
        )
        reply = Delivery(result, InitProducerIdResponse).reply
        assert (reply.error_code, reply.producer_id) == (code, -1)
