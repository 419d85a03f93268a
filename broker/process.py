"""What the broker asks of the process it lives in: descriptors, signals, memory, age."""

import asyncio
import gc
import logging
import os
import resource
import signal
from collections.abc import Callable
from typing import Final

_log = logging.getLogger(__name__)

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
EXITED_BY_SIGNAL: Final = 128
FEW_DESCRIPTORS: Final = 4096
"""Below this many, a broker with some topics and clients runs out; `ulimit -n` raises it."""

YOUNG_OBJECTS: Final = 50_000
"""Objects made before the collector looks at the young ones.

Requests leave no cycles behind, so nearly all looks find nothing; at the default of 700 they cost
2 % of a small request, and every hundredth walks the state of all partitions.
"""


def raise_file_limit() -> int:
    """Allow as many open files as the system lets this user have; returns how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError) as error:
            _log.warning("The limit of %d open files cannot be raised: %s", soft, error)
    if soft < FEW_DESCRIPTORS:
        _log.warning("Only %d files may be open; raise it with `ulimit -n`", soft)
    return soft


def settle_memory() -> None:
    """Take everything made so far out of the collector's sight, and have it look less often.

    What start-up made stays for the life of the process; walking it again and again is the one
    pause of the loop that grows with the number of partitions. Nothing is collected first: there
    are a few hundred dead objects, and finding them costs the first client 20 ms.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
    gc.enable()


def age_ms() -> int:
    """Milliseconds since this process was executed, in the kernel's steps of 10; -1 if unknown."""
    try:
        with open("/proc/self/stat", "rb") as file:
            after_name = file.read().rpartition(b")")[2].split()
        with open("/proc/uptime", "rb") as file:
            uptime_s = float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return -1
    started_s = int(after_name[19]) / os.sysconf("SC_CLK_TCK")
    return int((uptime_s - started_s) * 1000)


def stop_on_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[str], None]) -> None:
    """Have the first SIGTERM or SIGINT call `stop` with its name; the second exits at once."""
    received: list[int] = []

    def on_signal(number: int) -> None:
        if received:
            os._exit(EXITED_BY_SIGNAL + number)
        received.append(number)
        stop(signal.Signals(number).name)

    for number in SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
