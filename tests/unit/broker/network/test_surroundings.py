"""What connections share starts empty and is large enough."""

import asyncio

from broker.network.request_memory import RequestMemory
from broker.network.surroundings import RECEIVE_BUFFER_BYTES, Surroundings
from runtime.blocking import Workers
from tests.support.manual_clock import ManualClock
from tests.support.network import ObedientHandler


async def test_one_writable_buffer_serves_all() -> None:
    loop = asyncio.get_running_loop()
    shared = Surroundings(
        loop,
        ObedientHandler(),
        ManualClock().monotonic,
        Workers(loop, 1),
        RequestMemory(1),
        lambda connection: None,
    )
    assert len(shared.buffer) == RECEIVE_BUFFER_BYTES
    assert not shared.buffer.readonly
    assert shared.answers.parts == []
