"""Lets the n-th call of a life fail, for every n, and the life go on as a broker would.

    EIO once       the drive refused one call: its directory goes offline, the others serve on
    EIO for ever   … and every later call below that directory as well
    ENOSPC once    the disk was full for a moment

What is asked counts as much as what is changed: opening, reading, looking for a name. A write that
fails has half happened; an fsync that fails loses what it was to make durable, for good. After the
life its disk works again, and storage is started on it: killed, everything acknowledged is there
(but for what a failed fsync lost); after a power cut, everything promised.

A failure names life, call and way, and the line that does it again:

    python -m tests.crash.failing_disk topics 117 eio kill
"""

import errno
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from protocol.errors import ErrorCode, KafkaError
from storage.errors import StorageError
from tests.crash.engine import KILL, Life, start_again
from tests.crash.machine import Machine
from tests.crash.steps import BOOTS
from tests.support.fault_disk import FaultDisk

FAILURES = {
    "eio": (errno.EIO, False),
    "dead": (errno.EIO, True),
    "full": (errno.ENOSPC, False),
}


def calls_of(life: Life) -> int:
    """How many calls a life makes when none fails."""
    machine = Machine(FaultDisk(), life.setup)
    go_on(machine, life)
    return machine.disk.asked


def go_on(machine: Machine, life: Life, *, until_failed: bool = False) -> None:
    """Live, whatever fails; a directory that failed is offline until the next boot.

    With `until_failed` there is none: the process ends in its place.
    """
    attempt(machine, machine.boot)
    for step in life.steps:
        failed = any(directory.offline for directory in machine.directories)
        if isinstance(step, BOOTS):
            if failed and until_failed:
                return
            after_failure(machine)
        if not all(directory.offline for directory in machine.directories):
            attempt(machine, partial(step.do, machine))
        elif isinstance(step, BOOTS):
            machine.disk.restart()
            attempt(machine, machine.boot)


def attempt(machine: Machine, step: Callable[[], None]) -> None:
    """Do it; what it fails with is what a broker answers, or takes a directory offline for."""
    try:
        step()
    except StorageError as error:
        machine.failed(error)
    except KafkaError as error:
        if error.code != ErrorCode.KAFKA_STORAGE_ERROR:
            raise


def after_failure(machine: Machine) -> None:
    """The process dies now: what a failed fsync lost may be missing, nothing promised is."""
    if machine.disk.failed_call is not None and machine.disk.failed_call[0] == "fsync":
        for ledger in machine.ledgers.values():
            ledger.uncertain = True


def fail(life: Life, number: int, failure: str, way: str) -> bool:
    """One life with one failing call; whether it came to that call at all."""
    machine = Machine(FaultDisk(), life.setup)
    code, lasting = FAILURES[failure]
    disk = machine.disk
    disk.fail_call(number, code, from_then_on=life.setup.log_dirs[0] if lasting else None)
    try:
        go_on(machine, life)
        met = disk.failed_call
        disk.clear_failures()
        if met is None:
            return False
        after_failure(machine)
        disk.restart()
        if way != KILL:
            disk.power_cut()
        machine.disk = FaultDisk()
        start_again(machine, disk, killed=way == KILL)
    except Exception as error:
        raise AssertionError(
            f"life {life.name!r}, call {number} {disk.failed_call} fails with {failure}, then"
            f" {way}:\n{error}\nagain: python -m tests.crash.failing_disk {life.name} {number}"
            f" {failure} {way}"
        ) from error
    return True


def explore(life: Life, failure: str, way: str, stride: int, first: int = 1) -> Iterator[int]:
    """Fail every stride-th call; the numbers tried."""
    for number in range(first, calls_of(life) + 1, stride):
        fail(life, number, failure, way)
        yield number


def main(arguments: Sequence[str]) -> int:
    """Fail one call of one life in one way."""
    from tests.crash.lives import LIVES

    life, number, failure, way = arguments
    met = fail(LIVES[life], int(number), failure, way)
    print(f"{life} {'survives' if met else 'never comes to'} call {number}: {failure}, {way}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
