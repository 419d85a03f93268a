"""Copies: whose they are, who has them in hand, and what a start finds of them."""

import errno

import pytest

from protocol.errors import KafkaError
from storage.filenames import LOG
from tests.support.moving import TP, Pair


def copies(pair: Pair) -> list[str]:
    return [name for name in pair.disk.listdir("/b") if "orders" in name]


def test_a_copy_counts_as_a_log_of_its_directory_and_no_reader_sees_it() -> None:
    pair = Pair()
    future = pair.begin()
    assert pair.manager.future(TP) is future.log
    assert pair.manager.logs_in("/b") == []
    assert pair.manager.futures.logs_in("/b") == [future.log]
    assert pair.manager.recovery_points("/b") == {TP: 0}
    assert len(pair.manager.futures) == 1
    assert "busy=False" in repr(future)


def test_no_copy_is_made_while_one_may_lie_where_nobody_can_look() -> None:
    pair = Pair()
    pair.manager.directories["/b"].offline = True
    with pytest.raises(KafkaError, match="/b are offline"):
        pair.begin()


def test_a_copy_in_hand_is_buried_when_it_is_given_back() -> None:
    pair = Pair()
    future = pair.begin()
    future.busy = True
    assert pair.manager.futures.remove(TP, pair.now_ms) == ()
    assert copies(pair)[0].endswith("-future")
    pair.run(pair.manager.futures.let_go(future, pair.now_ms))
    assert copies(pair) == []
    assert pair.manager.futures.remove(TP, pair.now_ms) == ()


def test_a_copy_whose_directory_failed_is_not_touched() -> None:
    pair = Pair()
    future = pair.begin()
    future.busy = True
    pair.manager.fail_dir("/b")
    assert pair.manager.future(TP) is None
    states = [future.log.offline]
    pair.manager.futures.let_go(future, pair.now_ms)
    assert [*states, future.log.offline] == [False, True]
    assert copies(pair)[0].endswith("-future")


def test_a_start_finds_a_copy_and_where_to_cut_it() -> None:
    pair = Pair()
    pair.append(4)
    pair.begin()
    pair.copy()
    pair.manager.close(pair.now_ms, clean=True)
    again = Pair(pair.disk)
    assert again.future.believed_end_offset == again.current.log_end_offset == 8
    assert again.future.log.log_end_offset == 8
    again.copy()
    assert again.content(again.future.log) == again.content()


def test_a_copy_is_left_while_its_log_is_nowhere() -> None:
    pair = Pair()
    pair.append(2)
    pair.begin()
    pair.manager.close(pair.now_ms, clean=True)
    pair.disk.rename("/a/orders-0", "/a/hidden")
    again = Pair(pair.disk)
    assert [one.reason for one in again.report.unserved] == [
        "it is a copy, and the log it was copied from is not here"
    ]
    assert again.manager.future(TP) is None
    assert len(copies(again)) == 1


def test_a_copy_of_a_log_that_is_offline_is_left() -> None:
    pair = Pair()
    pair.begin()
    pair.manager.fail_dir("/a")
    pair.manager.futures.leave(TP)
    assert copies(pair)[0].endswith("-future")
    assert pair.manager.future(TP) is None
    pair.manager.close(pair.now_ms, clean=True)
    assert not pair.disk.exists("/b/.kafka_cleanshutdown")


def test_a_damaged_copy_is_given_up_and_its_log_is_served() -> None:
    pair = Pair()
    pair.append(4)
    pair.begin()
    pair.copy()
    path = pair.future.log.segments.active.path(LOG)
    pair.manager.close(pair.now_ms, clean=True)
    fd = pair.disk.open(path)
    pair.disk.truncate(fd, pair.disk.size(fd) - 3)
    pair.disk.close(fd)
    again = Pair(pair.disk)
    assert again.manager.future(TP) is None
    assert len(again.content()) == 8
    assert all(name.endswith("-delete") for name in copies(again))


def test_a_disk_that_fails_while_moves_are_settled_is_offline() -> None:
    pair = Pair()
    pair.append(2)
    pair.begin()
    pair.copy()
    pair.slice(with_seal=True)
    pair.manager.replace_current_with_future(TP)
    disk = pair.disk.photograph()
    disk.fail("rename", errno.EIO)
    again = Pair(disk)
    assert again.report.offline == ["/a"]
    assert again.current.log_dir == "/b"
    assert len(again.content()) == 4
