"""A compacted topic on a real broker: each key's last record stays, at its offset, while producers
go on and through restarts.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from pytest_tidelog.broker import Broker

TOPIC = "latest"
SETTINGS = {"log.cleaner.backoff.ms": 100, "log.segment.delete.delay.ms": 0}
CONFIG = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "20000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "1500",
}
PATIENCE_S = 30


class Read(NamedTuple):
    """A record as a consumer gets it."""

    offset: int
    key: bytes
    value: bytes | None


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    running = Broker(tmp_path / "data", SETTINGS).start()
    admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 1, 1, config=CONFIG)])[TOPIC].result(10)
    yield running
    running.close()


class Writer:
    """Produces, and knows what the last record of each key is."""

    def __init__(self, broker: Broker) -> None:
        self.last: dict[bytes, Read] = {}
        self._producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "enable.idempotence": True,
                "batch.num.messages": 50,
                "linger.ms": 2,
                "reconnect.backoff.ms": 50,
                "reconnect.backoff.max.ms": 200,
            }
        )

    def put(self, *pairs: tuple[bytes, bytes | None]) -> None:
        """Send these, and wait until all are acknowledged."""
        for key, value in pairs:

            def delivered(error: object, message: Message, key: bytes = key) -> None:
                assert error is None
                offset = message.offset()
                assert offset is not None
                self.last[key] = Read(offset, key, message.value())

            self._producer.produce(TOPIC, value, key, on_delivery=delivered)
        assert self._producer.flush(30) == 0

    def fill_segments(self) -> None:
        """Records of half a segment: what was written before is sealed afterwards."""
        for number in range(4):
            self.put((b"roll-%d" % number, bytes(10_000)))

    def rounds(self, first: int, count: int) -> None:
        """So many rounds over fifty keys."""
        for number in range(first, first + count):
            self.put(*((b"key-%02d" % key, b"%04d" % number + b"x" * 100) for key in range(50)))


def read_all(broker: Broker) -> list[Read]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "none",
            "enable.auto.commit": False,
        }
    )
    place = TopicPartition(TOPIC, 0, 0)
    _, end = consumer.get_watermark_offsets(place, 10)
    consumer.assign([place])
    found: list[Read] = []
    while consumer.position([place])[0].offset < end:
        for message in consumer.consume(500, 0.2):
            assert message.error() is None
            found.append(Read(message.offset(), message.key(), message.value()))
    consumer.close()
    return found


def eventually(what: Callable[[], bool]) -> None:
    """Wait for what the cleaner does by itself."""
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, "the cleaner did not come to it"
        time.sleep(0.05)


def cleaned_to(broker: Broker) -> int:
    lines = (broker.data_dir / "cleaner-offset-checkpoint").read_text().splitlines()
    found = dict(line.split(" 0 ") for line in lines[2:])
    return int(found.get(TOPIC, -1))


def active_base(broker: Broker) -> int:
    return max(int(path.stem) for path in (broker.data_dir / f"{TOPIC}-0").glob("*.log"))


def all_cleaned(broker: Broker) -> bool:
    checkpoint = broker.data_dir / "cleaner-offset-checkpoint"
    return checkpoint.exists() and cleaned_to(broker) >= active_base(broker) > 0


def test_the_last_record_of_each_key_stays_at_its_offset(broker: Broker) -> None:
    writer = Writer(broker)
    writer.rounds(0, 60)
    writer.fill_segments()
    eventually(lambda: all_cleaned(broker))
    found = read_all(broker)
    assert {one.key: one for one in found} == writer.last
    assert len(found) < 60 * 50
    assert [one.offset for one in found] == sorted(one.offset for one in found)


def test_a_deleted_key_is_gone_after_its_time(broker: Broker) -> None:
    writer = Writer(broker)
    writer.put((b"gone", b"soon"), (b"stays", b"x"))
    writer.put((b"gone", None))
    number = 0

    def is_gone() -> bool:
        nonlocal number
        writer.rounds(number, 4)
        number += 4
        return all(one.key != b"gone" for one in read_all(broker))

    assert not is_gone()
    eventually(is_gone)
    del writer.last[b"gone"]
    assert {one.key: one for one in read_all(broker)} == writer.last


@pytest.mark.parametrize("stop", [Broker.kill, Broker.stop])
def test_restarts_in_the_middle_lose_nothing(
    broker: Broker, stop: Callable[[Broker], object]
) -> None:
    writer = Writer(broker)
    for life in range(3):
        writer.rounds(20 * life, 20)
        stop(broker)
        broker.start()
        assert {one.key: one for one in read_all(broker)} == writer.last
    writer.fill_segments()
    eventually(lambda: all_cleaned(broker))
    assert {one.key: one for one in read_all(broker)} == writer.last
    folder = broker.data_dir / f"{TOPIC}-0"
    assert broker.stop() == 0
    assert not [*folder.glob("*.cleaned"), *folder.glob("*.swap")]


def test_a_damaged_segment_is_left_as_it_is_and_shown(broker: Broker) -> None:
    broker.overrides["log.cleaner.enable"] = "false"
    broker.stop()
    broker.start()
    writer = Writer(broker)
    writer.rounds(0, 12)
    assert broker.stop() == 0
    folder = broker.data_dir / f"{TOPIC}-0"
    first = min(folder.glob("*.log"))
    damaged = bytearray(first.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    first.write_bytes(damaged)
    before = {path.name: path.read_bytes() for path in folder.glob("*.log")}
    del broker.overrides["log.cleaner.enable"]
    broker.start()
    line = "kafka_log_logcleanermanager_uncleanable_partitions_count{logDirectory="

    def is_shown() -> bool:
        assert broker.metrics_url is not None
        with urlopen(broker.metrics_url) as page:
            text = page.read().decode()
        return any(one.startswith(line) and one.endswith(" 1.0") for one in text.splitlines())

    eventually(is_shown)
    assert str(first) in broker.log
    writer.put((b"more", b"x"))
    after = {path.name: path.read_bytes() for path in folder.glob("*.log")}
    for name in sorted(before)[:-1]:
        assert after[name] == before[name]


def helper_of(broker: Broker) -> int:
    """The process that cleans."""
    threads = Path(f"/proc/{broker.pid}/task")

    def children() -> list[str]:
        return "".join(path.read_text() for path in threads.glob("*/children")).split()

    eventually(lambda: len(children()) == 1)
    return int(children()[0])


def test_a_stop_does_not_wait_for_the_end_of_a_cleaning(broker: Broker) -> None:
    writer = Writer(broker)
    writer.rounds(0, 20)
    writer.fill_segments()
    os.kill(helper_of(broker), signal.SIGSTOP)
    writer.rounds(20, 20)
    writer.fill_segments()
    eventually(lambda: broker.log.count("Cleaning ") > broker.log.count("Cleaned offsets"))
    assert broker.stop() == 0
    broker.restart()
    eventually(lambda: all_cleaned(broker))
    assert {one.key: one for one in read_all(broker)} == writer.last
