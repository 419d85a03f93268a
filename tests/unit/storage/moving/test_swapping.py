"""The copy takes over with all that the log was, and what is durable stays so."""

import pytest

from protocol.model import TopicPartition
from storage.moving.marks import was_moved
from storage.moving.swapping import may_swap, seal, seal_facts
from storage.reused_names import KnownOffsets, known_instead
from tests.support.fault_disk import FaultDisk
from tests.support.moving import TP, Pair


@pytest.fixture
def pair() -> Pair:
    made = Pair()
    made.append(5)
    made.begin()
    made.copy()
    return made


def test_a_seal_makes_everything_durable_and_says_so(pair: Pair) -> None:
    log = pair.future.log
    sealed = seal(log, pair.current, seal_facts(pair.current), pair.now_ms)
    assert sealed is not None
    assert (sealed.end_offset, log.recovery_point) == (10, 10)
    directory = log.directory
    pair.disk.power_cut()
    assert known_instead(pair.disk, directory) == KnownOffsets(10, 0, 10)
    assert was_moved(pair.disk, directory)
    assert pair.disk.read_file(f"{directory}/partition.metadata")


def test_a_copy_is_swapped_in_only_while_nothing_moves(pair: Pair) -> None:
    log, current = pair.future.log, pair.current
    sealed = seal(log, current, seal_facts(current), pair.now_ms)
    assert sealed is not None
    assert not may_swap(current, log, sealed), "flushes do not stand still"
    current.flusher.hold()
    assert may_swap(current, log, sealed)
    assert not may_swap(current, log, sealed._replace(end_offset=-1))
    assert not may_swap(current, log, sealed._replace(log_start_offset=3))
    assert not may_swap(current, log, sealed._replace(segment_count=99))
    assert not may_swap(current, log, sealed._replace(generation=99))
    pair.append(1)
    assert not may_swap(current, log, sealed), "a batch is missing"


def test_what_memory_knew_is_known_after_the_swap(pair: Pair) -> None:
    current = pair.current
    current.first_dirty_offset = 4
    current.assign_epoch(7, current.log_end_offset)
    jobs = pair.manager.replace_current_with_future(TP)
    log = pair.manager.get(TP)
    assert log is not None
    assert log is not current
    assert current.offline
    assert log.first_dirty_offset == 4
    assert log.latest_epoch == 7
    assert log.high_watermark == current.high_watermark
    assert log.producers.get(9) is current.producers.get(9)
    assert pair.manager.future(TP) is None
    assert log.flushed_end_offset <= current.flushed_end_offset
    pair.run(jobs)
    assert log.flushed_end_offset == log.log_end_offset
    pair.current = log
    pair.append(2)
    assert [offset for offset, _ in pair.content()] == list(range(14))
    assert not was_moved(pair.disk, log.directory)
    assert [name for name in pair.disk.listdir("/a") if "orders" in name] == []


def test_two_live_replicas_are_settled_by_the_mark() -> None:
    pair = Pair()
    pair.append(5)
    pair.begin()
    pair.copy()
    sealed = seal(pair.future.log, pair.current, seal_facts(pair.current), pair.now_ms)
    assert sealed is not None
    pair.manager.replace_current_with_future(TP)
    disk: FaultDisk = pair.disk.photograph()
    assert disk.isdir("/a/orders-0")
    assert disk.isdir("/b/orders-0")
    again = Pair(disk)
    assert again.current.log_dir == "/b"
    assert again.content() == [(number, value) for number, value in pair.content(again.current)]
    assert [name for name in disk.listdir("/a") if "orders" in name and "delete" not in name] == []


def test_a_new_log_in_the_old_place_is_left_alone(pair: Pair) -> None:
    jobs = pair.manager.replace_current_with_future(TP)
    pair.manager.delete_async(TP, pair.now_ms)
    pair.disk.rename("/a/orders-0", "/a/elsewhere")
    pair.manager.placement.prefer(TopicPartition("orders", 0), "/a")
    log = pair.manager.get_or_create(TP, bytes(range(16)), pair.config, pair.now_ms, is_new=True)
    assert log.directory == "/a/orders-0"
    pair.run(jobs)
    assert pair.disk.isdir("/a/orders-0")
