"""What the connections of a process share: the loop, the handler, one receive buffer, the books."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.network.answers import Answers, FrameHandler
from broker.network.request_memory import RequestMemory
from runtime.blocking import Workers
from runtime.logs import Occasional

if TYPE_CHECKING:
    from broker.network.connection import Connection

_logger = logging.getLogger(__name__)

RECEIVE_BUFFER_BYTES = 512 * 1024


class Surroundings:
    """Made once by the socket server; `buffer` and `answers` are empty between two turns."""

    __slots__ = (
        "answers",
        "bad_frames",
        "broken_answers",
        "buffer",
        "handler",
        "log",
        "loop",
        "memory",
        "monotonic",
        "on_closed",
        "workers",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        handler: FrameHandler,
        monotonic: Callable[[], float],
        workers: Workers,
        memory: RequestMemory,
        on_closed: "Callable[[Connection], None]",
    ) -> None:
        self.loop = loop
        self.handler = handler
        self.monotonic = monotonic
        self.workers = workers
        self.memory = memory
        self.on_closed = on_closed
        self.buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.answers = Answers()
        self.log = Occasional(_logger, monotonic)
        self.bad_frames = 0
        """Sizes that no frame may have."""
        self.broken_answers = 0
        """Answers cut off because a file did not hold what it promised."""
