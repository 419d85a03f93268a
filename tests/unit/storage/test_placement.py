"""Where new logs go."""

import pytest

from protocol.errors import KafkaError
from protocol.model import TopicPartition
from storage.errors import StorageError
from storage.log_directory import LogDirectory
from storage.placement import MOST_PREFERENCES, Placement
from tests.support.fault_disk import FaultDisk

TP = TopicPartition("t", 0)


@pytest.fixture
def directories() -> list[LogDirectory]:
    return [LogDirectory(FaultDisk(), path) for path in ("/a", "/b", "/c")]


def test_the_emptiest_wins_and_the_first_named_among_equals(
    directories: list[LogDirectory],
) -> None:
    placement = Placement(directories)
    assert placement.choose(TP).path == "/a"
    placement.added("/a")
    assert placement.choose(TP).path == "/b"
    placement.added("/b")
    placement.added("/c")
    placement.removed("/c")
    assert placement.choose(TP).path == "/c"


def test_a_wish_wins_while_its_directory_works(directories: list[LogDirectory]) -> None:
    placement = Placement(directories)
    placement.prefer(TP, "/c")
    assert placement.choose(TP).path == "/c"
    assert placement.choose(TopicPartition("t", 1)).path == "/a"
    directories[2].offline = True
    assert placement.choose(TP).path == "/a"


def test_wishes_do_not_pile_up(directories: list[LogDirectory]) -> None:
    placement = Placement(directories)
    for number in range(MOST_PREFERENCES + 5):
        placement.prefer(TopicPartition("t", number), "/c")
    assert len(placement.preferred) == MOST_PREFERENCES
    assert TopicPartition("t", 4) not in placement.preferred


def test_cordoned_directories_are_passed_over_unless_all_are(
    directories: list[LogDirectory],
) -> None:
    placement = Placement(directories)
    placement.cordoned = lambda: ("/a",)
    assert placement.choose(TP).path == "/b"
    placement.cordoned = lambda: ("*",)
    assert placement.is_cordoned("/c")
    assert placement.choose(TP).path == "/a"


def test_without_a_directory_there_is_no_place(directories: list[LogDirectory]) -> None:
    placement = Placement(directories)
    placement.require_all_online(TP)
    directories[1].offline = True
    with pytest.raises(KafkaError, match="log directories /b are offline"):
        placement.require_all_online(TP)
    for directory in directories:
        directory.offline = True
    with pytest.raises(StorageError, match="No log directory is online"):
        placement.choose(TP)
