"""Stops a life at every change it makes to the disk, in every way, and starts storage again.

The life runs once. Before each change, and in the middle of each write, its disk is photographed;
each photograph is developed in several ways, and storage started on it:

    kill                the process died: all that was written is there
    cut                 the machine died: only what was synced is there
    cut:until:N         … and all changes up to the N-th of the whole disk
    cut:files:SEED      … and of each file any first part, each directory as it once was
    cut:pages:SEED      … and of each file any pages of 512 bytes

After each: the directory is audited, every log compared with its ledger, readers of committed
data and repeated sequences tried. Then storage is killed and started twice more: the second start
must find what the first one did, the third must change no byte. Last, it must live on.

A failure names life, moment and way, and the line that does it again:

    python -m tests.crash.engine group-commit 117 cut:pages:3
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from protocol.model import TopicPartition
from storage.audit import audit_log_dir
from storage.log.partition_log import PartitionLog
from storage.partition_metadata import encode_partition_metadata
from storage.producer.entry import ProducerEntry
from tests.crash.ledger import Written
from tests.crash.machine import (
    Machine,
    Setup,
    batches_of,
    committed_in,
    committed_of,
    undecided,
)
from tests.crash.steps import Append, Flush, Repeat, Steps, name
from tests.support.fault_disk import FaultDisk
from tests.support.inodes import EachByItself, PageByPage, PowerCut, Until

SECTOR = 512
"""What a drive writes whole; the logs of lives are a few of these long."""
KILL = "kill"
CUT = "cut"


class Life(NamedTuple):
    """A script: what is there, and what happens to it."""

    name: str
    setup: Setup
    steps: Steps


Ways = Callable[[int, FaultDisk], Iterator[str]]


def usual_ways(moment: int, disk: FaultDisk) -> Iterator[str]:
    """Kill, the hardest cut, and one cut by chance: what fits into every test run."""
    yield KILL
    yield CUT
    kind = ("files", "pages", "until")[moment % 3]
    number = random.Random(moment).randint(1, max(disk.changes, 1)) if kind == "until" else moment
    yield f"{CUT}:{kind}:{number}"


def all_ways(moment: int, disk: FaultDisk) -> Iterator[str]:
    """Kill, every moment the disk may fall back to, and many cuts by chance."""
    yield KILL
    yield CUT
    for change in range(1, disk.changes):
        yield f"{CUT}:until:{change}"
    for seed in range(10):
        yield f"{CUT}:files:{10 * moment + seed}"
        yield f"{CUT}:pages:{10 * moment + seed}"


def develop(photograph: FaultDisk, way: str) -> FaultDisk:
    """The disk as this way of stopping leaves it."""
    disk = photograph.photograph()
    if way == KILL:
        return disk
    _, _, kind = way.partition(":")
    kind, _, number = kind.partition(":")
    cuts: dict[str, Callable[[], PowerCut]] = {
        "": PowerCut,
        "until": lambda: Until(int(number)),
        "files": lambda: EachByItself(random.Random(int(number))),
        "pages": lambda: PageByPage(random.Random(int(number)), SECTOR),
    }
    disk.power_cut(cuts[kind]())
    return disk


class Explorer:
    """Develops the photographs of one life and starts storage on each; equal ones only once."""

    def __init__(self, life: Life, ways: Ways, only: tuple[int, str] | None = None) -> None:
        self.life = life
        self.moment = 0
        self.starts = 0
        self._ways = ways
        self._only = only
        self._seen: set[int] = set()
        self._machine = Machine(FaultDisk(), life.setup)

    def run(self) -> None:
        """Live the whole life; AssertionError at the first stop that storage did not survive."""
        machine = self._machine
        machine.disk.watch(self._photograph)
        machine.boot()
        for step in self.life.steps:
            step.do(machine)
        self._photograph("the end")

    def _photograph(self, following: str) -> None:
        self.moment += 1
        disk = self._machine.disk
        if self._only is not None:
            if self.moment == self._only[0]:
                self._stop(disk, self._only[1], following)
            return
        for way in self._ways(self.moment, disk):
            self._stop(disk, way, following)

    def _stop(self, photograph: FaultDisk, way: str, following: str) -> None:
        disk = develop(photograph, way)
        known = hash((frozenset(disk.image().items()), way == KILL, facts(self._machine)))
        if known in self._seen:
            return
        self._seen.add(known)
        self.starts += 1
        try:
            start_again(self._machine, disk, killed=way == KILL)
        except Exception as error:
            raise AssertionError(
                f"life {self.life.name!r}, stopped at moment {self.moment} (before {following})"
                f" by {way}:\n{error}\nagain: python -m tests.crash.engine {self.life.name} "
                f"{self.moment} {way}"
            ) from error


def facts(machine: Machine) -> tuple[object, ...]:
    """What the ledgers say, as far as a start is compared with it."""
    return tuple(
        (
            partition,
            ledger.topic_id,
            ledger.end,
            ledger.promised_end,
            ledger.under_way,
            ledger.cut_to,
            ledger.start,
            ledger.kept_start,
            len(ledger.ever),
        )
        for partition, ledger in machine.ledgers.items()
    )


class Sight(NamedTuple):
    """What a start found of one log.

    Producers whose last batch lies below the log start may be known still, or not: whether its
    segment is read again decides.
    """

    start: int
    end: int
    batches: list[Written]
    producers: list[tuple[int, ...]]


def start_again(before: Machine, disk: FaultDisk, *, killed: bool) -> None:
    """Start three times on this disk, each killed by the next; AssertionError where it shows."""
    doubted = never_checkpointed(before, disk.image())
    first = begin(before, disk)
    found = {partition: look(log) for partition, log in logs_of(first)}
    for partition, ledger in before.ledgers.items():
        assert partition in found, f"{partition} is not served"
        sight = found[partition]
        check = ledger.check_after_kill if killed else ledger.check_after_power_cut
        places = {f"{path}/{partition}" for path in before.setup.log_dirs}
        check(sight.batches, sight.start, believed=not places & doubted)
        last = sight.batches[-1].next_offset if sight.batches else sight.start
        ends_there = sight.end == last or (ledger.compacted and sight.end > last)
        assert ends_there, f"the log ends at {sight.end}, its last batch at {last}"
        check_readers(first, partition, sight)
    if not any(config.preallocate for config in before.setup.topics.values()):
        audit(first)
    after_first = disk.image()
    disk.restart()
    second = begin(before, disk)
    again = {partition: look(log) for partition, log in logs_of(second)}
    assert again == found, f"the second start found {again}, the first {found}"
    after_second = disk.image()
    if after_second != after_first:
        disk.restart()
        begin(before, disk)
        after_third = disk.image()
        assert after_third == after_second, changed_files(after_second, after_third)
        disk.restart()
        second = begin(before, disk)
    live_on(second)


def never_checkpointed(before: Machine, image: dict[str, bytes]) -> set[str]:
    """Directories of logs that the checkpoints do not speak of: marked so, or without identity."""
    known = {encode_partition_metadata(topic_id) for topic_id in before.topic_ids.values()}
    return {
        directory.rstrip("/")
        for directory in image
        if f"{directory}newer-than-checkpoints" in image
        or image.get(f"{directory}partition.metadata") not in known
    }


def begin(before: Machine, disk: FaultDisk) -> Machine:
    """A machine that was started on a disk."""
    machine = before.successor(disk)
    machine.boot()
    return machine


def logs_of(machine: Machine) -> list[tuple[TopicPartition, PartitionLog]]:
    """Every log that is served."""
    return [(log.topic_partition, log) for log in machine.manager.all_logs()]


def look(log: PartitionLog) -> Sight:
    """What there is in a log."""
    assert log.segments.first.base_offset <= log.log_start_offset
    assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark
    assert log.high_watermark <= log.log_end_offset
    assert log.flushed_end_offset <= log.log_end_offset
    start = log.log_start_offset
    return Sight(
        start,
        log.log_end_offset,
        batches_of(log),
        [one for one in sorted(map(of_producer, log.active_producers())) if one[3] >= start],
    )


def of_producer(entry: ProducerEntry) -> tuple[int, ...]:
    """The facts of a producer that a snapshot keeps."""
    return (
        entry.producer_id,
        entry.producer_epoch,
        entry.last_sequence,
        entry.last_offset,
        entry.transaction_first_offset,
    )


def check_readers(machine: Machine, partition: TopicPartition, sight: Sight) -> None:
    """Producers and epochs are known by what is in the log; committed data are just those."""
    log = machine.log(partition)
    assert log is not None
    for batch in sight.batches:
        epoch = log.epochs.epoch_for_offset(batch.offset)
        first = log.epochs.earliest
        if epoch < 0 and first is not None:
            epoch = first.epoch  # cut to a log start that no checkpoint kept
        assert epoch == batch.leader_epoch, f"epoch {epoch} covers {batch}"
    log.update_high_watermark(log.log_end_offset)
    known = {entry[0]: entry for entry in sight.producers}
    open_from = undecided(sight.batches)
    for batch in sight.batches:
        if batch.producer_id >= 0 and batch.commit is None:
            entry = known.get(batch.producer_id)
            assert entry is not None, f"producer {batch.producer_id} is forgotten"
            last_sequence = batch.sequence + batch.width - 1
            assert entry[2] >= last_sequence, f"{batch} is newer than {entry}"
    if sight.start == 0:
        stable_end = min(open_from.values(), default=sight.end)
        assert log.last_stable_offset == stable_end, f"stable up to {log.last_stable_offset}"
    expected = committed_in(sight.batches, log.last_stable_offset)
    values = committed_of(log)
    assert values == expected, f"committed readers see {values}, not {expected}"


def live_on(machine: Machine) -> None:
    """Whoever wrote goes on: repeats are known, new records are taken, flushed and audited."""
    for number in range(len(machine.setup.topics) * machine.setup.partitions):
        ledger = machine.ledgers.get(name(machine, number))
        if ledger is None:
            continue
        producers = {batch.producer_id for batch in ledger.batches if batch.commit is None}
        for producer in sorted(producers | {-1}):
            if producer >= 0:
                Repeat(number, producer).do(machine)
            Append(number, producer, 1).do(machine)
        Flush(number).do(machine)
    machine.rest()
    machine.close()
    audit(machine)


def audit(machine: Machine) -> None:
    """No fault in what is served; what metadata do not name is left as the crash left it."""
    unserved = [str(one.topic_partition) for one in machine.unserved]
    for path in machine.setup.log_dirs:
        findings = [
            finding
            for finding in map(str, audit_log_dir(machine.disk, path))
            if not any(name in finding for name in unserved)
        ]
        assert not findings, "\n".join(findings)


def changed_files(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Which files one more start changed."""
    paths = sorted(before.keys() | after.keys())
    return f"one more start changed {[one for one in paths if before.get(one) != after.get(one)]}"


def main(arguments: Sequence[str]) -> int:
    """Stop one life at one moment in one way."""
    from tests.crash.lives import LIVES

    life, moment, way = arguments
    explorer = Explorer(LIVES[life], usual_ways, (int(moment), way))
    explorer.run()
    print(f"{life} survives moment {moment} by {way}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
