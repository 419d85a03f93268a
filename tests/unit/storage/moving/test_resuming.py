"""What a start makes of replicas and copies, by where they lie and what they are marked with."""

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from storage.log.environment import LogIdentity
from storage.log.recovery import Checkpoints
from storage.log_directory import LogDirectory
from storage.log_loading import LoadTask
from storage.moving.marks import was_moved, write_moved_from
from storage.moving.resuming import drop_marks, sort_out
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, TOPIC_ID, environment

TP = TopicPartition("t", 0)
DISK = FaultDisk()
DIRS = {path: LogDirectory(DISK, path) for path in ("/a", "/b", "/c")}


def task(path: str, disk: FaultDisk = DISK) -> LoadTask:
    """The loading of a directory of partition t-0."""
    directory = DIRS[path[:2]] if disk is DISK else LogDirectory(disk, path[:2])
    identity = LogIdentity(TP, TOPIC_ID, path, path[:2])
    return LoadTask(
        directory, identity, LogConfig(), environment(), Checkpoints(False, 0, 0, 0), START_MS
    )


def names(tasks: list[LoadTask]) -> list[str]:
    return [one.identity.directory for one in tasks]


def sorted_out(paths: list[str], marked: tuple[str, ...] = ()) -> list[list[str]]:
    found = sort_out([task(path) for path in paths], lambda one: one.identity.directory in marked)
    return [names(some) for some in found]


def test_a_single_replica_is_loaded() -> None:
    assert sorted_out(["/a/t-0"]) == [["/a/t-0"], [], [], []]


def test_the_marked_one_of_two_counts() -> None:
    both = ["/a/t-0", "/b/t-0"]
    assert sorted_out(both, ("/b/t-0",)) == [["/b/t-0"], ["/a/t-0"], ["/b/t-0"], []]
    assert sorted_out(both) == [both, [], [], []]
    assert sorted_out(both, ("/a/t-0", "/b/t-0")) == [both, [], [], []]


def test_a_copy_goes_on_beside_its_log() -> None:
    assert sorted_out(["/a/t-0", "/b/t-0.1-future"])[0] == ["/a/t-0", "/b/t-0.1-future"]


def test_a_second_copy_and_one_beside_its_own_log_are_given_up() -> None:
    found = sorted_out(["/a/t-0", "/a/t-0.1-future", "/b/t-0.2-future", "/c/t-0.3-future"])
    assert found[0] == ["/a/t-0", "/b/t-0.2-future"]
    assert found[1] == ["/a/t-0.1-future", "/c/t-0.3-future"]


def test_a_copy_without_its_log_is_left() -> None:
    assert sorted_out(["/b/t-0.1-future"]) == [[], [], [], ["/b/t-0.1-future"]]


def test_a_mark_is_dropped_only_when_every_directory_can_be_seen() -> None:
    disk = FaultDisk()
    for path in ("/a", "/b/t-0"):
        disk.makedirs(path)
    write_moved_from(disk, "/b/t-0", "/a/t-0")
    only = task("/b/t-0", disk)
    away = LogDirectory(disk, "/a")
    drop_marks([only], [only.directory])
    away.offline = True
    drop_marks([only], [away, only.directory])
    assert was_moved(disk, "/b/t-0")
    away.offline = False
    drop_marks([only], [away, only.directory])
    assert not was_moved(disk, "/b/t-0")
