"""Shards loaded, asked, written and unloaded, over real logs."""

from collections.abc import Callable

import pytest

from broker.coordinator.runtime import (
    CoordinatorRuntime,
    Done,
    RuntimeEnvironment,
    coordinator_error,
)
from broker.coordinator.shard import CoordinatorRecord, Outcome, Writer
from config.topic_config import LogConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition
from protocol.records.control import EndTransactionMarker
from tests.support.replicas import CONTROLLER_EPOCH, ReplicaBroker
from tests.support.tally_shard import Asker, Tally, put

TOPIC = "__tallies"


class Worker:
    """Reads when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], bytes], Done]] = []

    def __call__(self, read: Callable[[], bytes], done: Done) -> None:
        self.waiting.append((read, done))

    def run(self, broker: ReplicaBroker) -> None:
        while self.waiting:
            read, done = self.waiting.pop(0)
            done(read(), None)
            broker.turn()


class Running:
    """A runtime over a topic of one broker."""

    def __init__(self, broker: ReplicaBroker | None = None, partitions: int = 1) -> None:
        self.broker = broker or ReplicaBroker()
        self.worker = Worker()
        self.shards: list[Tally] = []

        def shard_of(index: int, leader_epoch: int) -> Tally:
            self.shards.append(Tally(index, leader_epoch))
            return self.shards[-1]

        self.runtime = CoordinatorRuntime(
            TOPIC,
            self.broker.replicas,
            shard_of,
            RuntimeEnvironment(
                self.broker.clock,
                self.worker,
                self.broker.soon.append,
                self.broker._after,
                lambda: 5000,
            ),
        )
        self.broker.replicas.leadership_watchers.append(self.runtime.leadership_changed)
        if broker is None:
            self.broker.create(TOPIC, partitions)
        self.settle()

    def settle(self) -> None:
        self.broker.turn()
        self.worker.run(self.broker)

    def ask(self, command: Callable[[Tally, int], Outcome], index: int = 0) -> Asker:
        asker = Asker()
        self.runtime.submit(index, command, asker)
        return asker

    def put(self, name: bytes, number: int, writer: Writer | None = None) -> list[object]:
        asker = Asker()
        self.runtime.submit(0, lambda _shard, _now: put(name, number, asker, writer), asker)
        return asker.told

    @property
    def shard(self) -> Tally:
        return self.shards[-1]


def refusing(_shard: Tally, _now_ms: int) -> Outcome:
    raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def test_a_command_is_written_applied_and_answered() -> None:
    running = Running()
    assert running.put(b"a", 1) == [1]
    assert running.put(b"a", 2) == [2]
    assert running.shard.numbers == {b"a": 2}
    assert running.shard.applied == [0, 1]
    assert running.broker.log(TOPIC).log_end_offset == 2


def test_a_command_that_refuses_writes_nothing() -> None:
    running = Running()
    assert running.ask(refusing).told == [ErrorCode.ILLEGAL_GENERATION]
    assert running.broker.log(TOPIC).log_end_offset == 0


def test_what_is_not_led_here_is_not_coordinated_here() -> None:
    running = Running()
    assert running.ask(refusing, index=7).told == [ErrorCode.NOT_COORDINATOR]


def test_until_everything_is_replayed_it_is_loading() -> None:
    first = Running()
    first.put(b"a", 1)
    second = Running(first.broker)
    asker = second.ask(lambda _shard, _now: Outcome())
    assert asker.told == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    second.settle()
    assert second.put(b"b", 2) == [2]
    assert second.shard.numbers == {b"a": 1, b"b": 2}
    assert second.shard.loaded_at is not None


def test_replay_equals_what_lived_transactions_included() -> None:
    running = Running()
    writer, other = Writer(7, 0), Writer(8, 3)
    running.put(b"a", 1)
    running.put(b"b", 5, writer)
    running.put(b"c", 6, other)
    asker = Asker()
    running.runtime.write_marker(0, writer, EndTransactionMarker(True, 0), asker)
    running.runtime.write_marker(0, other, EndTransactionMarker(False, 0), asker)
    running.put(b"d", 9, writer)
    assert asker.told == [None, None]
    lived = running.shard
    again = Running(running.broker)
    again.ask(lambda _shard, _now: Outcome())
    again.settle()
    assert lived.numbers == {b"a": 1, b"b": 5}
    assert again.shard.numbers == lived.numbers
    assert again.shard.pending == lived.pending == {7: {b"d": 9}}


def test_an_append_that_is_refused_applies_nothing_and_is_taken_back() -> None:
    running = Running()
    running.broker.configs[TOPIC] = LogConfig(max_message_bytes=80)
    running.broker.log(TOPIC).update_config(LogConfig(max_message_bytes=80))
    asker, undone = Asker(), []

    def command(_shard: Tally, _now_ms: int) -> Outcome:
        def failed(code: ErrorCode) -> Outcome:
            undone.append(code)
            return Outcome(answers=[(asker, "taken back")])

        return Outcome([CoordinatorRecord(b"long", b"1" * 50)], [(asker, 1)], failed=failed)

    running.runtime.submit(0, command, asker)
    assert undone == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert asker.told == ["taken back"]
    assert running.shard.numbers == {}
    assert running.put(b"x", int("1" * 50)) == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_answers_wait_until_the_records_are_safe() -> None:
    broker = ReplicaBroker()
    broker.create(TOPIC, config=LogConfig(flush_messages=1))
    running = Running(broker)
    running.ask(lambda _shard, _now: Outcome())
    running.settle()
    told = running.put(b"a", 1)
    reader = running.ask(lambda shard, _now: Outcome(answers=[(Asker(), None)]))
    assert told == reader.told == []
    assert running.shard.numbers == {b"a": 1}
    broker.run_jobs()
    assert told == [1]


def test_leadership_that_is_lost_refuses_who_waits_and_stops_timers() -> None:
    running = Running()
    waiting = Asker()
    running.shard.parked.append(waiting)
    broker = running.broker
    partition = TopicPartition(TOPIC, 0)
    state = broker.state(partition, leader=2, leader_epoch=1, replicas=(1, 2), isr=(2,))
    broker.tell_metadata([state], brokers=(1, 2))
    broker.replicas.become_leader_or_follower(CONTROLLER_EPOCH, [state])
    running.settle()
    assert waiting.told == [ErrorCode.NOT_COORDINATOR]
    broker.advance(2000)
    assert running.shard.fired == []
    assert running.put(b"a", 1) == [ErrorCode.NOT_COORDINATOR]


def test_a_new_term_begins_with_what_is_in_the_log() -> None:
    running = Running()
    running.put(b"a", 1)
    broker = running.broker
    broker.replicas.become_leader_or_follower(
        CONTROLLER_EPOCH, [broker.state(TopicPartition(TOPIC, 0), leader_epoch=4)]
    )
    running.settle()
    assert running.shard.leader_epoch == 4
    assert running.shard.numbers == {b"a": 1}
    assert len(running.shards) == 2


def test_timers_come_back_as_commands_and_can_be_moved() -> None:
    running = Running()
    running.ask(lambda _shard, now: Outcome(timers={"session": now + 3000, "other": now + 100}))
    running.ask(lambda _shard, _now: Outcome(timers={"other": None}))
    running.broker.advance(2000)
    assert running.shard.fired == []
    running.broker.advance(1000)
    assert running.shard.fired == ["session"]
    assert running.shard.numbers == {b"fired": 1}


def test_many_partitions_load_a_few_at_a_time() -> None:
    running = Running(partitions=10)
    assert len(list(running.runtime.shards())) == 10
    assert {shard.index for shard in running.runtime.shards()} == set(range(10))


def test_a_log_that_cannot_be_read_is_tried_again_by_the_next_request() -> None:
    first = Running()
    first.put(b"a", 1)
    second = Running(first.broker)
    second.ask(lambda _shard, _now: Outcome())
    _, done = second.worker.waiting.pop()
    done(None, OSError("no"))
    assert second.put(b"b", 1) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    second.settle()
    assert second.shard.numbers == {b"a": 1}


@pytest.mark.parametrize(
    ("of_the_log", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_errors_of_the_log_are_told_as_those_of_a_coordinator(
    of_the_log: ErrorCode, told: ErrorCode
) -> None:
    assert coordinator_error(of_the_log) == told
