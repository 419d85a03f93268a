"""What is acknowledged survives: kill -9, restart, and damage done while the broker was down."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_tidelog.broker import Broker
from tests.interop.clients import CLIENTS, CODECS, Sent, available

RECORDS = [Sent(f"key-{n}".encode(), f"value-{n:04}".encode() * 600) for n in range(500)]
"""Three megabytes: three segments of the smallest size allowed, two of them closed."""
TOPIC = "survivors"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker of the test's own, with small segments and indexes so that there are several."""
    settings = {"log.segment.bytes": 1 << 20, "log.index.interval.bytes": 512}
    running = Broker(tmp_path / "data", settings).start()
    yield running
    running.close()


def produce(broker: Broker, records: list[Sent], codec: str = "none") -> None:
    client = CLIENTS["confluent"]
    for first in range(0, len(records), 50):
        client.produce(broker.bootstrap_servers, TOPIC, records[first : first + 50], codec)


def fetch(broker: Broker, count: int) -> list[Sent]:
    return CLIENTS["confluent"].fetch(broker.bootstrap_servers, TOPIC, count)


def end_offset(broker: Broker, topic: str = TOPIC) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "none"})
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
    consumer.close()
    return int(end)


def partition_folder(broker: Broker) -> Path:
    return broker.data_dir / f"{TOPIC}-0"


def last(folder: Path, suffix: str) -> Path:
    return max(folder.glob(f"*{suffix}"))


def nothing(folder: Path) -> None:
    """Killed, and left alone."""


def tear_the_tail(folder: Path) -> None:
    """Half a batch behind the last whole one, as a write that was cut short leaves it."""
    log = last(folder, ".log")
    whole = log.read_bytes()
    log.write_bytes(whole + whole[: min(100, len(whole) // 2)])


def delete_the_indexes(folder: Path) -> None:
    """Only closed segments have them: the active one's live in memory."""
    indexes = [*folder.glob("*.index"), *folder.glob("*.timeindex")]
    assert indexes
    for index in indexes:
        index.unlink()


def zero_the_indexes(folder: Path) -> None:
    """As long as a power cut leaves a file whose blocks never arrived."""
    for log in folder.glob("*.log"):
        log.with_suffix(".index").write_bytes(bytes(8 * 512))
        log.with_suffix(".timeindex").write_bytes(bytes(12 * 300))


def drop_the_checkpoints(folder: Path) -> None:
    for checkpoint in folder.parent.glob("*-checkpoint"):
        checkpoint.unlink()


def drop_the_snapshots(folder: Path) -> None:
    for snapshot in folder.glob("*.snapshot"):
        snapshot.unlink()


DAMAGE = [
    nothing,
    tear_the_tail,
    delete_the_indexes,
    zero_the_indexes,
    drop_the_checkpoints,
    drop_the_snapshots,
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda function: function.__name__)
def test_acknowledged_records_survive_a_kill(
    broker: Broker, damage: Callable[[Path], None]
) -> None:
    produce(broker, RECORDS)
    broker.kill()
    damage(partition_folder(broker))
    broker.start()
    assert fetch(broker, len(RECORDS)) == RECORDS
    assert end_offset(broker) == len(RECORDS)
    produce(broker, RECORDS[:50])
    assert fetch(broker, len(RECORDS) + 50) == RECORDS + RECORDS[:50]


def test_a_broker_killed_again_and_again_keeps_every_record_once(broker: Broker) -> None:
    for life in range(4):
        produce(broker, RECORDS[life * 100 : life * 100 + 100])
        broker.kill()
        broker.start()
    assert fetch(broker, 400) == RECORDS[:400]
    assert end_offset(broker) == 400


def test_a_stop_in_order_leaves_the_clean_shutdown_mark(broker: Broker) -> None:
    produce(broker, RECORDS[:100])
    mark = broker.data_dir / ".kafka_cleanshutdown"
    assert not mark.exists()
    assert broker.stop() == 0
    assert mark.exists()
    broker.start()
    assert not mark.exists()
    assert fetch(broker, 100) == RECORDS[:100]


def test_topics_and_their_settings_survive_a_kill(broker: Broker) -> None:
    from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topic = NewTopic("kept", 3, 1, config={"retention.ms": "12345"})
    admin.create_topics([topic])["kept"].result(10)
    broker.kill()
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    assert len(admin.list_topics(timeout=10).topics["kept"].partitions) == 3
    asked = ConfigResource("topic", "kept")
    assert admin.describe_configs([asked])[asked].result(10)["retention.ms"].value == "12345"


def test_what_a_kill_left_unflushed_is_flushed_and_shown_without_another_append(
    tmp_path: Path,
) -> None:
    broker = Broker(tmp_path / "data", {"log.flush.interval.messages": 1}).start()
    produce(broker, RECORDS[:20])
    broker.kill()
    (broker.data_dir / "recovery-point-offset-checkpoint").unlink(missing_ok=True)
    broker.start()
    assert fetch(broker, 20) == RECORDS[:20]
    broker.close()


def test_what_every_client_wrote_is_there_for_every_client_after_a_kill(broker: Broker) -> None:
    clients = [client for client in CLIENTS.values() if available(client.name)]
    written = [Sent(b"k", b"v"), Sent(b"k", None), Sent(b"h", b"w", (("name", b"value"),))]
    for client in clients:
        for codec in CODECS:
            topic = f"by-{client.name}-{codec}"
            client.create(broker.bootstrap_servers, topic)
            client.produce(broker.bootstrap_servers, topic, written, codec)
    broker.kill()
    broker.start()
    for writer, codec in itertools.product(clients, CODECS):
        topic = f"by-{writer.name}-{codec}"
        for reader in {writer, CLIENTS["confluent"]}:
            assert reader.fetch(broker.bootstrap_servers, topic, 3) == written, (topic, reader.name)
    ends = {end_offset(broker, f"by-{c.name}-{codec}") for c in clients for codec in CODECS}
    assert ends == {3}
