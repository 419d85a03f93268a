"""Given the same appends, Tidelog leaves the bytes on disk that Kafka leaves."""

import json
from pathlib import Path

import pytest

from protocol.model import topic_id_from_text
from storage import filenames
from tests.kafka_tools.conftest import Closed
from tests.kafka_tools.workload import Appends, topics

CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
)
CONVERSATION_TOPICS = ("c-plain-0", "c-plain-1", "c-records-0", "c-producers-0", "c-fetch-0")

pytestmark = pytest.mark.timeout(240)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def checkpoint(file: Path) -> dict[tuple[str, str], int]:
    """Entries of the partitions both brokers have, by topic and partition."""
    version, count, *lines = file.read_text().splitlines()
    assert (version, int(count)) == ("0", len(lines))
    entries = [line.split(" ") for line in lines]
    return {
        (topic, partition): int(offset)
        for topic, partition, offset in entries
        if topic.startswith("w-")
    }


def properties(file: Path) -> dict[str, str]:
    lines = file.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


OPEN: dict[str, str] = {}
"""Where we differ without meaning to; an entry that is no longer true fails the test."""


def compared(appends: Appends) -> object:
    reason = OPEN.get(appends.name)
    marks = [pytest.mark.xfail(reason=reason)] if reason else []
    return pytest.param(appends, id=appends.name, marks=marks)


@pytest.mark.parametrize("appends", [compared(appends) for appends in topics()])
def test_a_partition_is_the_same_byte_by_byte(closed: Closed, appends: Appends) -> None:
    same_partition(closed, f"{appends.name}-0")


@pytest.mark.parametrize("name", CONVERSATION_TOPICS)
def test_what_remains_of_the_conversation_is_the_same(closed: Closed, name: str) -> None:
    same_partition(closed, name)


def same_partition(closed: Closed, name: str) -> None:
    ours, theirs = files(closed.ours / name), files(closed.theirs / name)
    assert sorted(ours) == sorted(theirs)
    for file, content in theirs.items():
        if file != filenames.PARTITION_METADATA_FILE:
            assert ours[file].hex(" ", 8) == content.hex(" ", 8), file


def test_the_appends_make_every_kind_of_file(closed: Closed) -> None:
    """What is compared above is worth comparing."""
    assert len(list((closed.ours / "w-rolled-by-index-0").glob("*.snapshot"))) > 3
    assert len(list((closed.ours / "w-rolled-by-size-0").glob("*.log"))) > 2
    assert len(list((closed.ours / "w-rolled-by-time-0").glob("*.log"))) > 2
    index = next((closed.ours / "w-index-0").glob("*.index"))
    assert index.stat().st_size > 8 * 10


def test_partition_metadata_is_written_alike(closed: Closed) -> None:
    ours, theirs = (
        (folder / "w-plain-0" / filenames.PARTITION_METADATA_FILE).read_text()
        for folder in (closed.ours, closed.theirs)
    )
    our_lines, their_lines = ours.split("\n"), theirs.split("\n")
    assert our_lines[0] == their_lines[0]
    assert len(our_lines) == len(their_lines)
    for line in (our_lines[1], their_lines[1]):
        key, _, text = line.partition(": ")
        assert key == "topic_id"
        assert len(topic_id_from_text(text)) == 16


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_checkpoints_hold_the_same(closed: Closed, name: str) -> None:
    ours, theirs = checkpoint(closed.ours / name), checkpoint(closed.theirs / name)
    assert ours == theirs
    assert theirs, "nothing was compared"


def test_a_log_directory_says_whose_it_is_as_kafkas_does(closed: Closed) -> None:
    ours, theirs = (properties(d / "meta.properties") for d in (closed.ours, closed.theirs))
    assert list(ours) == list(theirs)
    assert (ours["version"], ours["node.id"]) == (theirs["version"], theirs["node.id"])
    assert [len(ours[key]) for key in ours] == [len(theirs[key]) for key in theirs]


def test_a_clean_shutdown_is_told_alike(closed: Closed) -> None:
    marks = [(d / ".kafka_cleanshutdown").read_text() for d in (closed.ours, closed.theirs)]
    ours, theirs = map(json.loads, marks)
    assert list(ours) == list(theirs)
    assert ours["version"] == theirs["version"]
    epoch = str(ours["brokerEpoch"])
    assert marks[0] == marks[1].replace(str(theirs["brokerEpoch"]), epoch)


def test_kafka_has_no_file_of_a_directory_that_we_lack(closed: Closed) -> None:
    ours, theirs = (
        {path.name for path in folder.iterdir() if path.is_file()}
        for folder in (closed.ours, closed.theirs)
    )
    control_plane, cleaner = "bootstrap.checkpoint", "cleaner-offset-checkpoint"
    assert theirs - ours - {control_plane, cleaner} == set()
