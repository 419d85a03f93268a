"""What can happen to storage, one step each: the words that lives are written in.

A step names its partition by number. Where it makes no sense (the partition is offline, the
transaction is not open) it does nothing, so that any list of steps is a life.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from protocol.model import TopicPartition
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record
from storage.jobs import Job
from storage.log.partition_log import PartitionLog
from storage.log.results import Origin
from storage.log.truncation import doubt_from
from tests.crash.ledger import Ledger, Written, key_of
from tests.crash.machine import Machine


class Step(Protocol):
    """One thing that happens."""

    def do(self, machine: Machine) -> None:
        """Let it happen. StorageError where the disk failed under it."""


def name(machine: Machine, number: int) -> TopicPartition:
    """The partition of this number: topics first, then partitions."""
    topics = list(machine.setup.topics)
    return TopicPartition(topics[number % len(topics)], number // len(topics))


def both(machine: Machine, number: int) -> tuple[PartitionLog, Ledger] | None:
    """Log and ledger of a partition; None while it cannot be used."""
    partition = name(machine, number)
    log, ledger = machine.log(partition), machine.ledgers.get(partition)
    return None if log is None or ledger is None else (log, ledger)


class Create(NamedTuple):
    """A topic of one partition is made, with an id of its own."""

    partition: int = 0

    def do(self, machine: Machine) -> None:
        partition = name(machine, self.partition)
        if partition in machine.topic_ids:
            return
        machine.count += 1
        machine.topic_ids[partition] = machine.count.to_bytes(16, "big")
        machine.ledgers[partition] = machine.ledger(partition)
        machine.make(partition, is_new=True)


class Delete(NamedTuple):
    """Metadata forget the topic, then its log goes."""

    partition: int = 0

    def do(self, machine: Machine) -> None:
        partition = name(machine, self.partition)
        if machine.topic_ids.pop(partition, None) is None:
            return
        del machine.ledgers[partition]
        if machine.log(partition) is not None:
            machine.run([machine.manager.delete_async(partition, machine.now_ms)])


class Append(NamedTuple):
    """A batch comes from a client; with a producer it has a sequence, maybe a transaction."""

    partition: int = 0
    producer: int = -1
    records: int = 3
    transactional: bool = False
    padding: int = 0

    def do(self, machine: Machine) -> None:
        found = both(machine, self.partition)
        if found is None:
            return
        log, ledger = found
        is_open = self.producer >= 0 and ledger.is_open(self.producer)
        transactional = is_open or (self.transactional and self.producer >= 0)
        machine.count += 1
        values = tuple(
            b"%d-%d%s" % (machine.count, index, b"." * self.padding)
            for index in range(self.records)
        )
        epoch = 0 if self.producer >= 0 else -1
        sequence = ledger.next_sequence(self.producer, 0) if self.producer >= 0 else -1
        base = log.log_end_offset
        assert base == ledger.end, f"the log ends at {base}, the ledger at {ledger.end}"
        ledger.will_append(
            Written(
                base,
                base + self.records,
                values,
                self.producer,
                epoch,
                sequence,
                transactional,
                None,
                machine.epoch,
            )
        )
        keys = [key_of(value) if ledger.compacted else None for value in values]
        data = build_batch(
            [
                Record(0, machine.now_ms, key, value, [])
                for key, value in zip(keys, values, strict=True)
            ],
            producer_id=self.producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        result = log.append_as_leader(memoryview(data), machine.epoch, machine.now_ms)
        assert result.base_offset == base
        assert not result.duplicate
        ledger.appended()
        machine.run(result.jobs)
        machine.advance(name(machine, self.partition))


class Repeat(NamedTuple):
    """A producer sends its last batch once more: it is answered with the old offsets."""

    partition: int
    producer: int

    def do(self, machine: Machine) -> None:
        found = both(machine, self.partition)
        if found is None:
            return
        log, ledger = found
        own = [
            batch
            for batch in ledger.batches
            if batch.producer_id == self.producer and batch.commit is None
        ]
        if not own or own[-1].next_offset <= log.log_start_offset or ledger.compacted:
            return
        last = own[-1]
        data = build_batch(
            [Record(0, machine.now_ms, None, value, []) for value in last.values],
            producer_id=self.producer,
            producer_epoch=last.epoch,
            base_sequence=last.sequence,
            is_transactional=last.transactional,
        )
        result = log.append_as_leader(memoryview(data), machine.epoch, machine.now_ms)
        assert result.duplicate, f"{last} was appended again at {result.base_offset}"
        assert result.base_offset == last.offset
        machine.run(result.jobs)


class End(NamedTuple):
    """The coordinator ends a producer's transaction."""

    partition: int
    producer: int
    commit: bool

    def do(self, machine: Machine) -> None:
        found = both(machine, self.partition)
        if found is None or not found[1].is_open(self.producer):
            return
        log, ledger = found
        base = log.log_end_offset
        ledger.will_append(
            Written(base, base + 1, (), self.producer, 0, -1, True, self.commit, machine.epoch)
        )
        data = build_end_transaction_marker(
            EndTransactionMarker(self.commit, 0),
            producer_id=self.producer,
            producer_epoch=0,
            timestamp=machine.now_ms,
        )
        result = log.append_as_leader(
            memoryview(data), machine.epoch, machine.now_ms, origin=Origin.COORDINATOR
        )
        ledger.appended()
        machine.run(result.jobs)
        machine.advance(name(machine, self.partition))


class Elect(NamedTuple):
    """The controller elects this broker again: the next batches have a new leader epoch."""

    def do(self, machine: Machine) -> None:
        machine.epoch += 1


class Flush(NamedTuple):
    """The flush scheduler comes round; unfinished, its work is left in flight."""

    partition: int = 0
    finished: bool = True

    def do(self, machine: Machine) -> None:
        found = both(machine, self.partition)
        work = None if found is None else found[0].plan_flush(machine.now_ms)
        if work is not None:
            machine.working.append(work)
            if self.finished:
                machine.finish_work()
                machine.run(())


class Finish(NamedTuple):
    """What is in flight comes back."""

    def do(self, machine: Machine) -> None:
        machine.finish_work()


class Rest(NamedTuple):
    """All jobs that wait are run."""

    def do(self, machine: Machine) -> None:
        machine.rest()


class Checkpoint(NamedTuple):
    """All checkpoint files are written."""

    def do(self, machine: Machine) -> None:
        machine.checkpoint()


class Retain(NamedTuple):
    """Retention looks at every log; `later_ms` have gone by."""

    later_ms: int = 0

    def do(self, machine: Machine) -> None:
        machine.now_ms += self.later_ms
        for partition, ledger in list(machine.ledgers.items()):
            log = machine.log(partition)
            if log is None:
                continue
            ledger.start = log.high_watermark  # whatever retention takes, it takes no more
            _, jobs = log.delete_old_segments(machine.now_ms)
            ledger.start = log.log_start_offset
            machine.run(jobs)


class Clean(NamedTuple):
    """The cleaner looks for the filthiest log, and cleans it to the end."""

    def do(self, machine: Machine) -> None:
        machine.run([Job(job.name, 0, job.plan) for job in machine.cleaner.periodic_jobs()])


class DeleteRecords(NamedTuple):
    """A client has all but the last records below the high watermark deleted."""

    partition: int = 0
    keep: int = 2

    def do(self, machine: Machine) -> None:
        found = both(machine, self.partition)
        if found is None:
            return
        log, ledger = found
        offset = max(log.high_watermark - self.keep, log.log_start_offset)
        ledger.start = offset
        log.maybe_increment_log_start_offset(offset, "client delete records request")


class Truncate(NamedTuple):
    """A follower finds that its last records are not the leader's; a new epoch begins."""

    partition: int = 0
    back: int = 4

    def do(self, machine: Machine) -> None:
        found = both(machine, self.partition)
        if found is None:
            return
        log, ledger = found
        offset = max(log.log_end_offset - self.back, log.log_start_offset)
        later = [batch.offset for batch in ledger.batches if batch.next_offset > offset]
        boundary = min([offset, *later])
        if boundary < log.log_start_offset:
            return  # no leader sends a follower back so far
        machine.epoch += 1
        doubt_from(log, boundary)
        machine.checkpoint()
        ledger.will_cut(boundary)
        jobs = log.truncate_to(offset, machine.now_ms)
        ledger.was_cut(log.log_end_offset)
        machine.run(jobs)
        machine.checkpoint()


class Close(NamedTuple):
    """The broker is stopped in order, and started again."""

    def do(self, machine: Machine) -> None:
        machine.close()
        for ledger in machine.ledgers.values():
            ledger.kept_start = max(ledger.kept_start, 0)
        machine.disk.restart()
        machine.boot()


class Kill(NamedTuple):
    """The process dies, and is started again; the clock may have been set meanwhile."""

    clock_ms: int = 0

    def do(self, machine: Machine) -> None:
        machine.now_ms += self.clock_ms
        machine.disk.restart()
        machine.boot()


class CutPower(NamedTuple):
    """The machine dies, and is started again; what was not synced is left to chance."""

    seed: int | None = None

    def do(self, machine: Machine) -> None:
        for ledger in machine.ledgers.values():
            ledger.uncertain = True
        chance = None if self.seed is None else random.Random(self.seed)
        machine.disk.power_cut(chance)
        machine.boot()


Steps = Sequence[Step]
BOOTS = (Close, Kill, CutPower)
"""The steps that end one process and begin another."""
