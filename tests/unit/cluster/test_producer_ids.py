import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from cluster import znodes
from cluster.producer_ids import BLOCK_SIZE, PREFETCH_BELOW, ProducerIdBlocks, allocate_block
from cluster.store.opening import create_root_paths
from protocol.errors import ErrorCode, KafkaError
from tests.support.fake_store import FakeStore


class Tasks:
    def __init__(self) -> None:
        self.running: list[asyncio.Task[None]] = []

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.running.append(asyncio.ensure_future(work))


async def prepared() -> tuple[FakeStore, Tasks, ProducerIdBlocks]:
    store, tasks = FakeStore(), Tasks()
    await create_root_paths(store, "c")
    return store, tasks, ProducerIdBlocks(store, 1, tasks.spawn)


async def test_ids_are_counted_from_zero_and_never_given_twice() -> None:
    store, _, blocks = await prepared()
    given = [await blocks.wait_for_id() for _ in range(2 * BLOCK_SIZE + 1)]
    assert given == list(range(2 * BLOCK_SIZE + 1))
    restarted = ProducerIdBlocks(store, 1, Tasks().spawn)
    assert await restarted.wait_for_id() >= 3 * BLOCK_SIZE


async def test_without_a_block_there_is_no_id_at_once() -> None:
    _, tasks, blocks = await prepared()
    assert blocks.next_id() is None
    assert await blocks.wait_for_id() == 0
    assert blocks.next_id() == 1
    assert len(tasks.running) == 1


async def test_the_next_block_is_there_before_the_current_one_is_used_up() -> None:
    store, tasks, blocks = await prepared()
    await blocks.wait_for_id()
    for _ in range(BLOCK_SIZE - PREFETCH_BELOW - 1):
        assert blocks.next_id() is not None
    assert len(tasks.running) == 1
    blocks.next_id()
    assert len(tasks.running) == 2
    await asyncio.gather(*tasks.running)
    while (given := blocks.next_id()) is not None and given < BLOCK_SIZE:
        pass
    assert given == BLOCK_SIZE
    node = await store.get(znodes.PRODUCER_ID_BLOCK)
    assert node is not None
    assert znodes.decode_producer_id_block(node.data) == (1, 1000, 1999)


async def test_all_who_wait_share_one_block() -> None:
    _, tasks, blocks = await prepared()
    given = await asyncio.gather(*(blocks.wait_for_id() for _ in range(5)))
    assert sorted(given) == [0, 1, 2, 3, 4]
    assert len(tasks.running) == 1


async def test_one_who_stops_waiting_takes_nothing_from_the_others() -> None:
    _, _, blocks = await prepared()
    first = asyncio.ensure_future(blocks.wait_for_id())
    second = asyncio.ensure_future(blocks.wait_for_id())
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 0


async def test_a_store_that_fails_is_an_error_that_clients_retry_and_a_later_try_works() -> None:
    store, _, blocks = await prepared()
    await store.close()
    with pytest.raises(KafkaError) as failed:
        await blocks.wait_for_id()
    assert failed.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert failed.value.code.retriable
    store._closed = False
    assert await blocks.wait_for_id() == 0


async def test_two_brokers_never_get_the_same_block() -> None:
    store, _, _ = await prepared()

    class Racing(FakeStore):
        """Another broker takes a block between this one's read and its write."""

        raced = False

        async def set(self, path: str, data: bytes | None, version: int = -1) -> int:
            if not self.raced:
                self.raced = True
                other = znodes.ProducerIdBlock(2, 0, 999)
                await super().set(path, znodes.encode_producer_id_block(other))
            return await super().set(path, data, version)

    racing = Racing(store._nodes)
    assert await allocate_block(racing, 1) == (1, 1000, 1999)
