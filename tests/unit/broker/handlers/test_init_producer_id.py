import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from broker.handlers.init_producer_id import handle_init_producer_id
from cluster.producer_ids import ProducerIdBlocks
from cluster.store.opening import create_root_paths
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.support.contexts import context
from tests.support.fake_store import FakeStore


async def blocks() -> ProducerIdBlocks:
    store = FakeStore()
    await create_root_paths(store, "c")

    def spawn(name: str, work: Coroutine[Any, Any, None]) -> object:
        return asyncio.ensure_future(work)

    return ProducerIdBlocks(store, 1, spawn)


async def init(some: ProducerIdBlocks, **fields: Any) -> tuple[int, int, int]:
    request = InitProducerIdRequest(**{"transactional_id": None, **fields})
    response = handle_init_producer_id(context(5), request, blocks=some)
    if not isinstance(response, InitProducerIdResponse):
        response = await response
    return response.error_code, response.producer_id, response.producer_epoch


async def test_every_idempotent_producer_gets_a_fresh_id_and_epoch_zero() -> None:
    some = await blocks()
    assert await init(some) == (0, 0, 0)
    assert await init(some, producer_id=0, producer_epoch=4) == (0, 1, 0)


async def test_once_a_block_is_there_the_answer_is_immediate() -> None:
    some = await blocks()
    await init(some)
    request = InitProducerIdRequest(transactional_id=None)
    response = handle_init_producer_id(context(5), request, blocks=some)
    assert isinstance(response, InitProducerIdResponse)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": "t"}, ErrorCode.UNSUPPORTED_VERSION),
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
