"""tidelog import-kafka: one file is written, nothing of Kafka's is touched."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.import_kafka import command
from cluster import znodes
from cluster.kafka_metadata.embedded import move_aside, read_store
from cluster.kafka_metadata.image import TOPICS
from cluster.kafka_metadata.importing import OWN_PRODUCER_IDS
from cluster.kafka_metadata.znode_tree import read_tree
from cluster.store.embedded import STORE_FILE
from cluster.store.port import Znode
from runtime.disk import OsDisk
from storage.log_directory import LogDirectory
from storage.log_dirs import MetaProperties, write_meta_properties
from tests.support.kafka_directories import (
    CLUSTER,
    KRAFT,
    add_replica,
    golden_znodes,
    stopped_kraft_broker,
)

ID = bytes(15) + b"\x07"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def told(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    document: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == ("refusals" in document), result.output
    return document


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.parametrize("version", KRAFT)
def test_a_kraft_broker_is_taken_over_in_place(tmp_path: Path, version: str) -> None:
    cluster = stopped_kraft_broker(tmp_path, version)
    before = content(tmp_path)
    document = told(tmp_path)
    assert (document["done"], document["cluster_id"]) == (True, CLUSTER)
    assert document["notes"] == ["left behind: 1 UserScramCredentialRecord"]
    after = content(tmp_path)
    assert after.keys() - before.keys() == {STORE_FILE}
    assert before.items() <= after.items()
    image = read_tree(read_store(str(tmp_path / STORE_FILE)), "a test")
    assert image.configs == cluster.configs
    assert {name: topic.topic_id for name, topic in image.topics.items()} == {
        name: topic.topic_id for name, topic in cluster.topics.items()
    }
    assert all(
        (partition.leader, partition.leader_epoch) == (1, 1)
        for topic in image.topics.values()
        for partition in topic.partitions.values()
    )


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    stopped_kraft_broker(tmp_path)
    before = content(tmp_path)
    result = run(tmp_path, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "orders" in result.stdout
    assert "dry run: nothing was written" in result.stdout
    assert content(tmp_path) == before


def test_a_second_import_says_so(tmp_path: Path) -> None:
    stopped_kraft_broker(tmp_path)
    assert "written: " in run(tmp_path).stdout
    before = content(tmp_path)
    result = run(tmp_path)
    assert result.exit_code == 0
    assert "is there already, with 3 topics: nothing to do" in result.stdout
    assert told(tmp_path)["done"] is False
    assert content(tmp_path) == before


def test_producer_ids_go_on_after_those_of_earlier_stays(tmp_path: Path) -> None:
    stopped_kraft_broker(tmp_path)
    assert told(tmp_path)["next_producer_id"] == OWN_PRODUCER_IDS
    store = str(tmp_path / STORE_FILE)
    from cluster.store.port import Set
    from cluster.store.tables import Tree
    from cluster.znodes import ProducerIdBlock

    tree = Tree.open(store)
    block = ProducerIdBlock(1, OWN_PRODUCER_IDS, OWN_PRODUCER_IDS + 999)
    tree.multi([Set(znodes.PRODUCER_ID_BLOCK, znodes.encode_producer_id_block(block))], [])
    tree.close()
    move_aside(store, 5)
    assert told(tmp_path)["next_producer_id"] == OWN_PRODUCER_IDS + 1000


def test_what_does_not_lie_here_whole_is_refused_and_nothing_written(tmp_path: Path) -> None:
    stopped_kraft_broker(tmp_path)
    (tmp_path / "orders-1" / "partition.metadata").unlink()
    (tmp_path / "orders-1" / "leader-epoch-checkpoint").unlink()
    (tmp_path / "orders-1").rmdir()
    result = run(tmp_path)
    assert result.exit_code == 1
    assert "not imported, and nothing was changed:\n  topic orders" in result.stderr
    assert told(tmp_path)["refusals"]
    assert not (tmp_path / STORE_FILE).exists()
    left = told(tmp_path, "--partial")
    assert {topic["name"] for topic in left["topics"]} == {"grown", "__transaction_state"}


def test_a_damaged_metadata_log_is_named(tmp_path: Path) -> None:
    stopped_kraft_broker(tmp_path)
    for path in (tmp_path / "__cluster_metadata-0").glob("*.checkpoint"):
        path.unlink()
    log = tmp_path / "__cluster_metadata-0" / f"{0:020d}.log"
    log.rename(log.with_name(f"{3:020d}.log"))
    result = run(tmp_path)
    assert result.exit_code == 1
    assert "no snapshot holds what was before offset 3" in result.stderr


def test_a_kraft_broker_whose_metadata_log_is_elsewhere_is_asked_for_it(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    stopped_kraft_broker(data)
    metadata.mkdir()
    (data / "__cluster_metadata-0").rename(metadata / "__cluster_metadata-0")
    assert "--metadata-dir" in run(data).stderr
    assert told(data, "--metadata-dir", metadata)["done"]


def zookeeper_broker(folder: Path, epoch: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    write_meta_properties(OsDisk(), str(folder), MetaProperties(0, 1, CLUSTER, None), 0)
    directory = LogDirectory(OsDisk(), str(folder))
    for topic in read_tree(golden_znodes(), "a test").topics.values():
        for index in topic.partitions:
            add_replica(directory, topic.name, index, topic.topic_id, epoch)


def test_a_zookeeper_broker_is_taken_over_with_what_its_tree_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zookeeper_broker(tmp_path)
    nodes = golden_znodes()
    monkeypatch.setattr("cluster.kafka_metadata.zookeeper.fetch", lambda address: nodes)
    nodes[znodes.broker(1)] = Znode(b"{}", 1, 1)
    assert "broker 1 is registered" in run(tmp_path, "--zookeeper", "host:1").stderr
    del nodes[znodes.broker(1)]
    document = told(tmp_path, "--zookeeper", "host:1")
    assert (document["done"], document["next_producer_id"]) == (True, 1000)
    image = read_tree(read_store(str(tmp_path / STORE_FILE)), "a test")
    assert image.configs == read_tree(golden_znodes(), "a test").configs
    assert image.controller_epoch == 1


def test_the_zookeeper_of_another_cluster_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zookeeper_broker(tmp_path)
    nodes = golden_znodes()
    data = znodes.encode_cluster_id("fZSON9t1SVCaDJyFHjGfqw")
    nodes[znodes.CLUSTER_ID] = Znode(data, 0, 1)
    monkeypatch.setattr("cluster.kafka_metadata.zookeeper.fetch", lambda address: nodes)
    assert "is of cluster fZSON9t1SVCaDJyFHjGfqw" in run(tmp_path, "--zookeeper", "h:1").stderr


def test_directories_alone_are_kept_for_ever_unless_told(tmp_path: Path) -> None:
    zookeeper_broker(tmp_path, epoch=6)
    setting = "orders:retention.ms=3600000"
    result = run(tmp_path, "--topic-config", setting)
    assert result.exit_code == 0, result.output
    assert "note: no settings of topics are known" in result.stdout
    image = read_tree(read_store(str(tmp_path / STORE_FILE)), "a test")
    assert image.configs[TOPICS]["grown"] == {"retention.ms": "-1", "retention.bytes": "-1"}
    assert image.configs[TOPICS]["__transaction_state"]["cleanup.policy"] == "compact"
    assert image.configs[TOPICS]["orders"]["retention.ms"] == "3600000"
    assert image.topics["orders"].partitions[2].leader_epoch == 6
    assert image.next_producer_id == OWN_PRODUCER_IDS


@pytest.mark.parametrize("setting", ["orders", "orders:retention.ms", "unknown:a=b"])
def test_a_setting_of_nothing_is_a_usage_error(tmp_path: Path, setting: str) -> None:
    zookeeper_broker(tmp_path)
    assert run(tmp_path, "--topic-config", setting).exit_code == 2


def test_a_cluster_without_a_name_is_refused(tmp_path: Path) -> None:
    write_meta_properties(OsDisk(), str(tmp_path), MetaProperties(0, 1, None, None), 0)
    assert "names the cluster" in run(tmp_path).stderr
