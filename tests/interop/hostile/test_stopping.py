"""However a broker ends, told to or killed or out of space: what it acknowledged is kept."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.records.batch import iterate_batches
from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic
from runtime.disk import OsDisk
from storage.audit import audit_log_dir
from tests.interop.hostile.wire import (
    Wire,
    batch,
    encoded,
    fetch_request,
    produce_request,
    until,
)
from tests.support.tiny_disk import tiny_file_system

TOPIC = "kept"
CLEAN_MARK = ".kafka_cleanshutdown"
SIGNALLED_TWICE = 128 + signal.SIGTERM
PATIENCE_S = 30


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    running = Broker(tmp_path / "data", metrics=False).start()
    create_topic(running.bootstrap_servers, TOPIC)
    yield running
    running.close()


def stored(broker: Broker) -> list[bytes]:
    """The value of every record, read by offsets that have no gap."""
    values: list[bytes] = []
    with Wire(broker.bootstrap_servers) as wire:
        end = wire.end_offset(TOPIC)
        while len(values) < end:
            found = wire.fetch(TOPIC, len(values))
            assert found.error_code == 0
            assert isinstance(found.records, memoryview)
            for one in iterate_batches(found.records):
                for record in one.records():
                    if record.offset >= len(values):
                        assert record.offset == len(values)
                        values.append(record.value or b"")
    return values


class Producers:
    """Threads that produce one record after another until the broker is gone."""

    def __init__(self, broker: Broker, count: int = 4) -> None:
        self.acknowledged: list[bytes] = []
        self._address = broker.bootstrap_servers
        self._threads = [
            threading.Thread(target=self._produce, args=(number,)) for number in range(count)
        ]

    def __enter__(self) -> "Producers":
        for thread in self._threads:
            thread.start()
        until(lambda: len(self.acknowledged) > 200)
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()

    def _produce(self, number: int) -> None:
        with Wire(self._address) as wire:
            for count in range(1_000_000):
                value = b"%d-%d" % (number, count)
                try:
                    answer = wire.produce(TOPIC, batch(value), acks=-1)
                except (AssertionError, OSError):
                    return  # The connection ended: this record may be there or not.
                assert answer.error_code == 0
                self.acknowledged.append(value)


def assert_kept(broker: Broker, acknowledged: list[bytes]) -> None:
    found = stored(broker)
    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)


def test_a_stop_under_load_loses_nothing_and_marks_itself_clean(broker: Broker) -> None:
    with Producers(broker) as producers:
        assert broker.stop() == 0
    assert (broker.data_dir / CLEAN_MARK).exists()
    assert audit_log_dir(OsDisk(), str(broker.data_dir)) == []
    broker.start()
    assert_kept(broker, producers.acknowledged)
    assert "0 of them recovered" in broker.log


def test_a_kill_under_load_loses_nothing(broker: Broker) -> None:
    with Producers(broker) as producers:
        broker.kill()
    assert not (broker.data_dir / CLEAN_MARK).exists()
    broker.start()
    assert_kept(broker, producers.acknowledged)
    assert broker.stop() == 0
    assert audit_log_dir(OsDisk(), str(broker.data_dir)) == []


def test_a_stop_answers_who_waits_and_does_not_wait_for_them(broker: Broker) -> None:
    with Wire(broker.bootstrap_servers) as waiting, Wire(broker.bootstrap_servers) as idle:
        idle.ping()
        waiting.ping()
        waiting.send(encoded(fetch_request(TOPIC, 0, max_wait_ms=60_000), 12))
        idle.ping()
        started = time.monotonic()
        assert broker.stop() == 0
        assert time.monotonic() - started < 5
        assert waiting.receive_frame()
        assert waiting.closed()
        assert idle.closed()


def ended(pid: int) -> bool:
    """The process is over and waits for its parent to hear of it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def refused(broker: Broker) -> bool:
    try:
        Wire(broker.bootstrap_servers).socket.close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_second_signal_ends_it_at_once_and_costs_no_record(broker: Broker) -> None:
    """The first waits for an answer that a client does not take."""
    with Wire(broker.bootstrap_servers, receive_buffer_bytes=4096) as stuck:
        for _ in range(8):
            assert stuck.produce(TOPIC, batch(os.urandom(1_000_000))).error_code == 0
        stuck.send(encoded(fetch_request(TOPIC, 0, max_bytes=1 << 30), 12))
        stuck.receive(1000)
        os.kill(broker.pid, signal.SIGTERM)
        until(lambda: refused(broker))
        started = time.monotonic()
        assert broker.stop() == SIGNALLED_TWICE
        assert time.monotonic() - started < 5
    assert not (broker.data_dir / CLEAN_MARK).exists()
    broker.start()
    assert len(stored(broker)) == 8


def test_a_signal_while_it_starts_stops_it_in_order(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "data", metrics=False).start()
    for number in range(2):
        create_topic(broker.bootstrap_servers, f"{TOPIC}-{number}", partitions=60)
    assert broker.stop() == 0
    process = broker.spawn()
    until(lambda: len(broker.log) > 0 or process.poll() is not None)
    assert broker.stop() in (0, -signal.SIGTERM)
    broker.start()
    with Wire(broker.bootstrap_servers) as wire:
        assert len(wire.ask(MetadataRequest(topics=None), 9).topics) == 2
    assert broker.stop() == 0
    assert audit_log_dir(OsDisk(), str(broker.data_dir)) == []


@pytest.mark.parametrize("delay_ms", [0, 3, 10, 30])
def test_a_kill_while_topics_are_made_leaves_each_whole_or_not_there(
    broker: Broker, delay_ms: int
) -> None:
    names = [f"new-{number}" for number in range(20)]
    topics = [CreatableTopic(name=n, num_partitions=5, replication_factor=1) for n in names]
    with Wire(broker.bootstrap_servers) as wire:
        wire.ping()
        wire.send(encoded(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7))
        # The moment is what is varied; whichever it is, what follows must hold.
        until(_elapsed(delay_ms))
        broker.kill()
    broker.start()
    with Wire(broker.bootstrap_servers) as wire:
        there = {topic.name: topic for topic in wire.ask(MetadataRequest(topics=None), 9).topics}
        for name in set(names) & set(there):
            assert [part.error_code for part in there[name].partitions] == [0] * 5
            assert wire.produce(name, batch(b"works")).base_offset == 0
        for name in set(names) - set(there):
            create_topic(broker.bootstrap_servers, name, partitions=5)
            assert wire.produce(name, batch(b"works")).base_offset == 0
    assert broker.stop() == 0
    assert audit_log_dir(OsDisk(), str(broker.data_dir)) == []


def _elapsed(delay_ms: int) -> Callable[[], bool]:
    end = time.monotonic() + delay_ms / 1000
    return lambda: time.monotonic() >= end


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB; skipped where this process may not mount one."""
    with tiny_file_system(tmp_path / "tiny", "4m") as place:
        yield place


def test_a_disk_that_fills_up_ends_the_broker_and_keeps_what_was_acknowledged(tiny: Path) -> None:
    ballast = tiny / "ballast"
    ballast.write_bytes(bytes(1 << 20))
    broker = Broker(tiny / "data", metrics=False).start()
    create_topic(broker.bootstrap_servers, TOPIC)
    acknowledged = []
    with Wire(broker.bootstrap_servers) as wire:
        for number in range(1000):
            value = b"%d" % number + os.urandom(100_000)
            code = wire.produce(TOPIC, batch(value), acks=-1).error_code
            if code:
                break
            acknowledged.append(value)
        assert code == ErrorCode.KAFKA_STORAGE_ERROR
    pid = broker.pid
    until(lambda: ended(pid))
    assert broker.stop() == 1
    assert "No space left on device" in broker.log
    ballast.unlink()
    broker.start()
    assert stored(broker)[: len(acknowledged)] == acknowledged
    assert broker.stop() == 0
    assert audit_log_dir(OsDisk(), str(broker.data_dir)) == []


def test_a_stop_among_requests_in_a_row_takes_them_in_order_and_answers_what_it_took(
    broker: Broker,
) -> None:
    count = 300
    with Wire(broker.bootstrap_servers) as wire:
        wire.ping()
        wire.send(
            b"".join(encoded(produce_request(TOPIC, batch(b"%d" % n)), 9) for n in range(count))
        )
        assert wire.receive_frame()
        assert broker.stop() == 0
        answered = 1
        while len(head := wire.receive(4)) == 4:
            wire.receive(int.from_bytes(head, "big"))
            answered += 1
    broker.start()
    found = stored(broker)
    assert len(found) >= answered
    assert found == [b"%d" % number for number in range(len(found))]
