"""Producer ids that no producer of the cluster was ever given.

A broker takes them in blocks of 1000 from `/latest_producer_id_block`, a conditional write, and
gives them out without waiting; what is left of a block when the broker stops is lost. The next
block is fetched before the last tenth of the current one is used (ProducerIdManager of 3.9).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from cluster import znodes
from cluster.store.port import BadVersion, MetadataStore, StoreError
from cluster.znodes import ProducerIdBlock
from protocol.errors import ErrorCode, KafkaError

BLOCK_SIZE = 1000
PREFETCH_BELOW = 100

Spawn = Callable[[str, Coroutine[Any, Any, None]], object]

_logger = logging.getLogger(__name__)


class ProducerIdBlocks:
    """Gives out producer ids from the block this broker holds."""

    def __init__(self, store: MetadataStore, broker_id: int, spawn: Spawn) -> None:
        self._store = store
        self._broker_id = broker_id
        self._spawn = spawn
        self._next = 0
        self._end = -1
        self._following: ProducerIdBlock | None = None
        self._fetching: asyncio.Future[None] | None = None

    @property
    def at_hand(self) -> bool:
        """Whether `next_id` gives one now."""
        return self._next <= self._end or self._following is not None

    def next_id(self) -> int | None:
        """A fresh id at once, or None while no block is at hand: then await `wait_for_id`."""
        if self._next > self._end:
            if self._following is None:
                return None
            self._next, self._end = self._following.start, self._following.end
            self._following = None
        producer_id = self._next
        self._next += 1
        left = self._end - self._next + 1
        if self._following is None and left < PREFETCH_BELOW:
            self._start_fetch()
        return producer_id

    async def wait_for_id(self) -> int:
        """A fresh id; COORDINATOR_LOAD_IN_PROGRESS, on which clients retry, if the store fails."""
        while (producer_id := self.next_id()) is None:
            await self.wait()
        return producer_id

    async def wait(self) -> None:
        """Return once an id is at hand; refused as `wait_for_id`."""
        if not self.at_hand:
            await asyncio.shield(self._start_fetch())
            if not self.at_hand:
                raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def _start_fetch(self) -> "asyncio.Future[None]":
        if self._fetching is None:
            self._fetching = asyncio.get_running_loop().create_future()
            self._spawn("producer-id-block", self._fetch(self._fetching))
        return self._fetching

    async def _fetch(self, done: "asyncio.Future[None]") -> None:
        try:
            self._following = await allocate_block(self._store, self._broker_id)
        except StoreError as error:
            _logger.warning("No block of producer ids: %r", error)
        finally:
            self._fetching = None
            if not done.done():
                done.set_result(None)


async def allocate_block(store: MetadataStore, broker_id: int) -> ProducerIdBlock:
    """Take the next block for a broker; another broker's write in between only costs a retry."""
    while True:
        node = await store.get(znodes.PRODUCER_ID_BLOCK)
        assert node is not None
        newest = znodes.decode_producer_id_block(node.data)
        start = 0 if newest is None else newest.end + 1
        block = ProducerIdBlock(broker_id, start, start + BLOCK_SIZE - 1)
        try:
            data = znodes.encode_producer_id_block(block)
            await store.set(znodes.PRODUCER_ID_BLOCK, data, node.version)
        except BadVersion:
            continue
        return block
