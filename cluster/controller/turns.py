"""How the controller lets requests be served while it works through many topics."""

import asyncio
from typing import Final

TOPICS_PER_TURN: Final = 100
"""A few milliseconds of planning, describing or forgetting."""


async def next_turn() -> None:
    """Let the loop run what is due before going on."""
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(turn.set_result, None)
    await turn
