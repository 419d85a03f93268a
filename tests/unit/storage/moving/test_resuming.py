"""What a start makes of replicas and copies, by where they lie and what they are marked with."""

import pytest

from config.topic_config import LogConfig
from protocol.model import TopicPartition
from protocol.records.builder import build_batch
from storage.log.environment import LogIdentity
from storage.log.recovery import Checkpoints
from storage.log_directory import LogDirectory
from storage.log_loading import LoadReport, LoadTask
from storage.log_manager import LogManager
from storage.moving.marks import was_moved, write_moved_from
from storage.moving.resuming import drop_marks, is_marked, sort_out
from storage.partition_metadata import read_topic_id
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import START_MS, TOPIC_ID, environment, records

TP = TopicPartition("t", 0)
DISK = FaultDisk()
DIRS = {path: LogDirectory(DISK, path) for path in ("/a", "/b", "/c")}


OTHER_ID = bytes([9] * 16)
CONFIG = LogConfig()


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


def unnamed(*, lost_power: bool, held: str = "", all_online: bool = True) -> list[list[str]]:
    """Two replicas without a topic id, one may hold a record: what counts, what is left."""
    disk = FaultDisk()
    tasks = []
    for path in ("/a/t-0", "/b/t-0"):
        disk.makedirs(path)
        disk.write_file(f"{path}/{0:020d}.log", b"x" if path == held else b"")
        one = task(path, disk)
        one.is_unnamed = True
        one.checkpoints = one.checkpoints._replace(lost_power=lost_power)
        tasks.append(one)
    found = sort_out(tasks, is_marked, all_online=all_online)
    assert found.given_up == []
    return [names(found.tasks), names(found.left)]


def test_the_one_with_a_topic_id_counts_whatever_the_other_holds() -> None:
    both = [task("/a/t-0"), task("/b/t-0")]
    both[0].is_unnamed = True
    for online in (True, False):
        found = sort_out(both, is_marked, all_online=online)
        assert (found.tasks, found.left) == ([both[1]], [both[0]])


def test_of_two_without_a_topic_id_one_counts_if_a_power_cut_is_known_of() -> None:
    a, b = "/a/t-0", "/b/t-0"
    assert unnamed(lost_power=True) == [[a], [b]]
    assert unnamed(lost_power=True, held=a) == [[b], [a]]
    assert unnamed(lost_power=True, held=b) == [[a], [b]]
    assert unnamed(lost_power=False, held=a) == [[a, b], []]


def test_one_without_a_topic_id_is_left_while_the_log_may_be_elsewhere() -> None:
    assert unnamed(lost_power=True, all_online=False) == [[], ["/a/t-0", "/b/t-0"]]


def boot(disk: FaultDisk, topic_id: bytes) -> tuple[LogManager, LoadReport]:
    """A manager over two directories that was started with this id in metadata."""
    directories = [LogDirectory(disk, path) for path in ("/a", "/b")]
    for directory in directories:
        directory.open()
    manager = LogManager(directories, environment(first_unique=disk.boots << 16))
    return manager, manager.load(START_MS, lambda _topic: CONFIG, lambda _partition: topic_id)


@pytest.mark.parametrize("flushed", [True, False])
def test_a_log_whose_deletion_a_power_cut_undid_does_not_stop_the_start(flushed: bool) -> None:
    disk = FaultDisk()
    manager, _ = boot(disk, TOPIC_ID)
    manager.get_or_create(TP, TOPIC_ID, CONFIG, START_MS, is_new=True)
    disk.fsync_dir("/a")  # as the first flush of another log there does
    manager.delete_async(TP, START_MS)
    manager.placement.prefer(TP, "/b")
    log = manager.get_or_create(TP, OTHER_ID, CONFIG, START_MS, is_new=True)
    log.append_as_leader(memoryview(build_batch(records([b"x"]))), 0, START_MS)
    disk.fsync_dir("/b")
    work = log.plan_flush(START_MS)
    if flushed:
        assert work is not None
        work.work()
    disk.power_cut()
    for clean in (False, True, False):
        manager, report = boot(disk, OTHER_ID)
        (left,) = report.unserved
        served = manager.get(TP)
        assert served is not None
        assert {left.path, served.directory} == {"/a/t-0", "/b/t-0"}
        assert left.topic_id is None
        assert served.log_end_offset == flushed
        assert read_topic_id(disk, served.directory) == OTHER_ID
        manager.close(START_MS, clean=clean)
        disk.restart()
