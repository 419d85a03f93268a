"""tidelog export-kafka: Kafka gets its directories back, the store is kept aside."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.export_kafka import command
from cli.import_kafka import command as import_command
from cluster import znodes
from cluster.controller.context import creation, first_leadership
from cluster.controller.topics import TopicPlan
from cluster.store.embedded import STORE_FILE
from cluster.store.port import Operation, Set, StoreFailed
from cluster.store.tables import Tree
from cluster.znodes import PartitionState
from runtime.disk import OsDisk
from storage.log_dirs import take_clean_shutdown_mark, write_clean_shutdown_mark
from tests.support.kafka_directories import golden_znodes, stopped_kraft_broker

ID = bytes(15) + b"\x07"
MADE: list[Operation] = [
    *creation(TopicPlan("made", ID, {0: (1,)}, {}), has_configs=False),
    *first_leadership("made", {0: PartitionState(1, 0, (1,), 1)}),
]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def change(folder: Path, *operations: Operation) -> None:
    tree = Tree.open(str(folder / STORE_FILE))
    tree.multi(list(operations), [])
    tree.close()


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """A directory that was a KRaft broker's and was taken over."""
    stopped_kraft_broker(tmp_path)
    assert CliRunner().invoke(import_command, [str(tmp_path)]).exit_code == 0
    return tmp_path


def stores(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(f"{STORE_FILE}*"))


def test_what_kafka_knows_is_given_back_and_the_store_kept(imported: Path) -> None:
    write_clean_shutdown_mark(OsDisk(), str(imported), 3)
    result = run(imported)
    assert result.exit_code == 0, result.output
    (kept,) = stores(imported)
    assert kept.startswith(f"{STORE_FILE}.exported-")
    assert f"the metadata store is kept as {imported}/{kept}" in result.stdout
    assert take_clean_shutdown_mark(OsDisk(), str(imported)) == 12
    assert "nothing of Tidelog's to export" in run(imported).stderr


def test_a_dry_run_changes_nothing(imported: Path) -> None:
    assert "dry run: nothing was written" in run(imported, "--dry-run").stdout
    assert stores(imported) == [STORE_FILE]


def test_what_kafka_would_set_aside_is_refused_unless_forced(imported: Path) -> None:
    change(imported, *MADE)
    result = run(imported)
    assert result.exit_code == 1
    assert "(--force does it all the same):\n  topic made was made here" in result.stderr
    assert stores(imported) == [STORE_FILE]
    forced = run(imported, "--force", "--json")
    assert forced.exit_code == 0
    assert json.loads(forced.stdout)["notes"] == [
        "topic made was made here: its directories become -stray"
    ]


def test_commands_for_settings_are_printed(imported: Path) -> None:
    values = znodes.encode_config({"retention.ms": "5"})
    change(imported, Set(znodes.config("topics", "orders"), values))
    result = run(imported)
    assert "to be run once Kafka is up:\n  kafka-configs.sh" in result.stdout
    assert "--delete-config cleanup.policy,max.message.bytes" in result.stdout


def test_directories_without_kafkas_metadata_need_a_name_for_it(imported: Path) -> None:
    (imported / "__cluster_metadata-0").rename(imported / "elsewhere")
    assert "(--zookeeper), or the KRaft metadata.log.dir" in run(imported).stderr


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Operation]]:
    """What goes to a ZooKeeper that knows nothing of topics made here."""
    groups: list[Sequence[Operation]] = []
    monkeypatch.setattr("cluster.kafka_metadata.zookeeper.fetch", lambda address: golden_znodes())
    monkeypatch.setattr(
        "cluster.kafka_metadata.zookeeper.write",
        lambda address, transactions: groups.extend(transactions),
    )
    return groups


def test_zookeeper_is_told_of_topics_made_here(
    imported: Path, written: list[Sequence[Operation]]
) -> None:
    change(imported, *MADE)
    dry = run(imported, "--zookeeper", "host:1", "--dry-run")
    assert "znodes to write" in dry.stdout
    assert written == []
    result = run(imported, "--zookeeper", "host:1")
    assert result.exit_code == 0, result.output
    assert "/brokers/topics/made" in [one.path for group in written for one in group]
    assert "note: topic made: created, 1 partitions" in result.stdout
    assert "meta.properties written as version 0" in result.stdout
    assert b"broker.id=1" in (imported / "meta.properties").read_bytes()
    assert STORE_FILE not in stores(imported)


def test_a_zookeeper_that_refuses_leaves_the_store_where_it_is(
    imported: Path, written: list[Sequence[Operation]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str, transactions: Any) -> None:
        raise StoreFailed("/brokers/topics/made: BadVersionError()")

    monkeypatch.setattr("cluster.kafka_metadata.zookeeper.write", refuse)
    result = run(imported, "--zookeeper", "host:1")
    assert result.exit_code == 1
    assert "BadVersionError" in result.stderr
    assert stores(imported) == [STORE_FILE]
