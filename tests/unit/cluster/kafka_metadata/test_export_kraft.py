"""What Kafka would do to directories it gets back is told before it does."""

import pytest

from cluster.kafka_metadata.export_kraft import ExportPlan, plan_kraft_export
from cluster.kafka_metadata.held import Held, survey
from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, PartitionImage
from tests.support.fault_disk import FaultDisk
from tests.support.kafka_directories import add_replica, alone, image, log_directory

ID, OTHER = bytes(15) + b"\x07", bytes(15) + b"\x08"


def held(*replicas: tuple[str, int, bytes, int]) -> Held:
    directory = log_directory(FaultDisk())
    for name, index, topic_id, epoch in replicas:
        add_replica(directory, name, index, topic_id, epoch)
    return survey([directory])


def plan(ours: ClusterImage, theirs: ClusterImage, here: Held | None = None) -> ExportPlan:
    return plan_kraft_export(ours, theirs, here or held(), 1)


def known() -> ClusterImage:
    return image({"orders": (ID, {0: alone(4)})})


def test_what_kafka_knows_goes_back_without_a_word() -> None:
    assert plan(known(), known(), held(("orders", 0, ID, 4))) == ExportPlan([], [], [])


def test_a_topic_made_here_would_become_stray() -> None:
    found = plan(known(), image({}))
    assert found.refusals == ["topic orders was made here: its directories become -stray"]


def test_a_topic_made_anew_here_would_become_stray() -> None:
    found = plan(known(), image({"orders": (OTHER, {0: alone()})}))
    assert "topic orders was made anew here" in found.refusals[0]


def test_partitions_added_here_would_become_stray() -> None:
    grown = image({"orders": (ID, {0: alone(4), 1: alone()})})
    assert "has 2 partitions here and 1 in Kafka" in plan(grown, known()).refusals[0]


@pytest.mark.parametrize(("stored", "in_log", "fits"), [(4, 4, True), (5, 4, False), (4, 6, False)])
def test_no_epoch_may_be_above_the_one_kafka_goes_on_from(
    stored: int, in_log: int, fits: bool
) -> None:
    ours = image({"orders": (ID, {0: alone(stored)})})
    found = plan(ours, known(), held(("orders", 0, ID, in_log)))
    assert bool(found.refusals) is not fits
    assert fits or f"led in epoch {max(stored, in_log)} here, Kafka knows 4" in found.refusals[0]


def test_replicas_elsewhere_could_undo_what_was_written_here() -> None:
    theirs = image({"orders": (ID, {0: PartitionImage((1, 2), (1, 2), 1, 4)})})
    assert "orders-0 has replicas [1, 2] in Kafka" in plan(known(), theirs).refusals[0]


def test_a_topic_deleted_here_comes_with_the_command_that_deletes_it_there() -> None:
    found = plan(image({}), known())
    assert "topic orders was deleted here" in found.notes[0]
    assert found.commands == [
        "kafka-topics.sh --bootstrap-server HOST:PORT --delete --topic orders"
    ]


def test_a_topic_left_out_or_elsewhere_was_not_deleted() -> None:
    assert plan(image({}), known(), held(("orders", 0, ID, 4))).notes == []
    assert plan(image({}), image({"orders": (ID, {0: alone(0, node=2)})})).notes == []


def test_settings_that_differ_come_with_the_commands_that_bring_them_over() -> None:
    ours, theirs = known(), known()
    ours.configs[TOPICS]["orders"] = {"retention.ms": "5", "cleanup.policy": "compact,delete"}
    theirs.configs[TOPICS]["orders"] = {"retention.ms": "6", "segment.ms": "1"}
    ours.configs[BROKERS]["<default>"] = {"background.threads": "3"}
    theirs.configs[BROKERS]["1"] = {"log.cleaner.threads": "1"}
    tool = "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type"
    found = plan(ours, theirs)
    assert found.commands == [
        f"{tool} topics --entity-name orders --add-config"
        " 'cleanup.policy=[compact,delete],retention.ms=5'",
        f"{tool} topics --entity-name orders --delete-config segment.ms",
        f"{tool} brokers --entity-name 1 --delete-config log.cleaner.threads",
        f"{tool} brokers --entity-default --add-config 'background.threads=3'",
    ]
    assert found.notes[0] == "settings of orders (topics) differ"
    assert found.refusals == []
