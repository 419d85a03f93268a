"""Metadata logs of real controllers replayed, and each kind of record by itself."""

from typing import Any

import pytest

from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, PartitionImage
from cluster.kafka_metadata.kraft import Replay, read_cluster
from cluster.kafka_metadata.kraft_log import snapshots
from protocol.internal.cluster_metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    Skipped,
    TopicRecord,
    encode_record,
)
from protocol.records.builder import build_batch
from protocol.records.record import Record
from protocol.schema.message import Message
from storage.errors import CorruptFileError
from tests.support.fault_disk import FaultDisk
from tests.support.kafka_directories import KRAFT, ROOT, golden_disk

ID, OTHER = bytes(15) + b"\x07", bytes(15) + b"\x08"
CREATED: list[Message] = [
    TopicRecord(name="orders", topic_id=ID),
    PartitionRecord(
        partition_id=0, topic_id=ID, replicas=[1, 2], isr=[1, 2], leader=1, leader_epoch=4
    ),
]


def replayed(*records: Message | Skipped) -> ClusterImage:
    replay = Replay(ClusterImage("a test"))
    for record in records:
        replay.take(record)
    return replay.image


def facts(image: ClusterImage) -> tuple[object, ...]:
    return image.topics, image.configs, image.next_producer_id, image.broker_epochs


@pytest.mark.parametrize("version", KRAFT)
def test_a_real_cluster_is_what_was_done_to_it(version: str) -> None:
    image = read_cluster(golden_disk(version), ROOT)
    counts = {name: len(topic.partitions) for name, topic in image.topics.items()}
    assert counts == {"orders": 3, "grown": 2, "__transaction_state": 1}
    assert image.configs[TOPICS]["orders"] == {
        "cleanup.policy": "compact,delete",
        "max.message.bytes": "5000",
    }
    assert image.configs[BROKERS]["1"] == {"log.cleaner.threads": "1"}
    assert image.configs[BROKERS]["<default>"]["background.threads"] == "7"
    assert image.next_producer_id == 1000
    assert image.broker_epochs[1] > 0
    assert +image.left_behind == {"UserScramCredentialRecord": 1}
    (first, *_) = image.topics["orders"].partitions.values()
    assert (first.replicas, first.leader, first.leader_epoch) == ((1,), -1, 1)
    assert first.isr + first.eligible == (1,)


@pytest.mark.parametrize("version", KRAFT)
def test_each_snapshot_with_the_log_behind_it_tells_the_same_as_the_whole_log(version: str) -> None:
    disk = golden_disk(version)
    expected = facts(read_cluster(disk, ROOT))
    for snapshot in snapshots(disk, f"{ROOT}/__cluster_metadata-0"):
        disk.unlink(snapshot.path)
        assert facts(read_cluster(disk, ROOT)) == expected


def test_a_leader_named_is_a_new_leader_epoch() -> None:
    def after(**change: Any) -> PartitionImage:
        record = PartitionChangeRecord(partition_id=0, topic_id=ID, **change)
        return replayed(*CREATED, record).topics["orders"].partitions[0]

    assert after(leader=2) == PartitionImage((1, 2), (1, 2), 2, 5)
    assert after(leader=1) == PartitionImage((1, 2), (1, 2), 1, 5)
    assert after(isr=[1]) == PartitionImage((1, 2), (1,), 1, 4)
    assert after(replicas=[1, 3]) == PartitionImage((1, 3), (1, 2), 1, 4)
    elr = after(isr=[], eligible_leader_replicas=[1], last_known_elr=[1])
    assert elr == PartitionImage((1, 2), (), 1, 4, (1,))


def test_a_removed_topic_takes_its_settings_along() -> None:
    setting = ConfigRecord(resource_type=2, resource_name="orders", name="a", value="b")
    image = replayed(*CREATED, setting, RemoveTopicRecord(topic_id=ID))
    assert image.topics == {}
    assert image.configs[TOPICS] == {}


def test_a_setting_without_value_is_gone() -> None:
    def setting(value: str | None, kind: int = 4, name: str = "") -> ConfigRecord:
        return ConfigRecord(resource_type=kind, resource_name=name, name="a", value=value)

    assert replayed(setting("1")).configs[BROKERS] == {"<default>": {"a": "1"}}
    assert replayed(setting("1"), setting(None)).configs[BROKERS] == {}
    assert replayed(setting("1", kind=16, name="metrics")).configs == {TOPICS: {}, BROKERS: {}}


def test_a_metadata_transaction_counts_from_its_end_on() -> None:
    begin, end, abort = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()
    assert replayed(begin, *CREATED).topics == {}
    assert replayed(begin, *CREATED, abort, NoOpRecord()).topics == {}
    assert replayed(begin, *CREATED, end).topics.keys() == {"orders"}


def test_what_is_left_behind_is_counted() -> None:
    image = replayed(Skipped(18), Skipped(18), Skipped(19), Skipped(27))
    assert image.left_behind == {"AccessControlEntryRecord": 1}


def test_a_log_that_contradicts_itself_is_damaged() -> None:
    disk = FaultDisk()
    disk.makedirs(f"{ROOT}/__cluster_metadata-0")
    value = encode_record(RemoveTopicRecord(topic_id=OTHER), 0)
    data = bytes(build_batch([Record(0, 0, None, value, [])]))
    disk.write_file(f"{ROOT}/__cluster_metadata-0/{0:020d}.log", data)
    with pytest.raises(CorruptFileError, match="offset 0 is about what was never created"):
        read_cluster(disk, ROOT)
