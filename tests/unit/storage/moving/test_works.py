"""A slice has the copy to itself, keeps its failures, and gives everything back."""

import errno

from storage.errors import StorageError
from storage.moving.steps import Action
from storage.moving.works import NoSpace, plan_slice
from tests.support.fault_disk import FaultDisk
from tests.support.moving import Pair


def test_a_slice_holds_no_file_once_it_is_over() -> None:
    pair = Pair()
    pair.append(9)
    opened = pair.disk.open_count
    pair.begin()
    pair.copy()
    assert pair.disk.open_count <= opened + 1
    assert not pair.future.busy


def test_a_slice_that_is_not_wanted_gives_back_what_it_took() -> None:
    pair = Pair()
    pair.append(3)
    future = pair.begin()
    opened = pair.disk.open_count
    piece = plan_slice(pair.current, future, 1 << 20, pair.now_ms)
    states = [future.busy]
    assert piece.fits_the_loop(1 << 16)
    assert not piece.fits_the_loop(1)
    piece.give_back()
    assert [*states, future.busy] == [True, False]
    assert pair.disk.open_count == opened


def test_reaching_the_end_is_known_when_it_is_planned() -> None:
    pair = Pair()
    pair.append(9)
    pair.begin()
    reached = [pair.slice(300).reaches_end for _ in range(20)]
    assert reached[0] is False
    assert reached[-1] is True
    assert pair.slice().step.action is Action.NOTHING


def test_a_log_cut_under_a_slice_is_no_failure() -> None:
    pair = Pair()
    pair.append(3)
    future = pair.begin()
    piece = plan_slice(pair.current, future, 1 << 20, pair.now_ms)
    piece.on_done(lambda _: ())
    pair.current.truncate_to(2, pair.now_ms)
    piece.work()
    piece.commit()
    assert piece.disturbed
    pair.append(2, epoch=1)
    pair.copy()
    assert pair.content(future.log) == pair.content()


def test_a_full_target_is_noticed_before_it_fails() -> None:
    pair = Pair(FaultDisk(usable=1000))
    pair.append(3)
    pair.begin()
    assert isinstance(pair.slice().failure, NoSpace)
    assert not pair.manager.directories["/b"].offline


def test_a_disk_that_fails_is_told_by_its_directory() -> None:
    pair = Pair()
    pair.append(3)
    pair.begin()
    piece = plan_slice(pair.current, pair.future, 1 << 20, pair.now_ms)
    piece.on_done(lambda _: ())
    pair.disk.fail("pread", errno.EIO, path_ends=".log")
    piece.work()
    piece.commit()
    failure = piece.failure
    assert isinstance(failure, StorageError)
    assert failure.directory == "/a"
    pair.disk.fail("pwrite", errno.EIO, path_ends=".log")
    failure = pair.slice().failure
    assert isinstance(failure, StorageError)
    assert failure.directory == "/b"


def test_a_copy_found_at_start_is_cut_to_what_the_log_has_left() -> None:
    pair = Pair()
    pair.append(3)
    pair.begin()
    pair.copy()
    pair.future.believed_end_offset = 2
    piece = pair.slice()
    assert (piece.step.action, pair.future.log.log_end_offset) == (Action.CUT, 2)
    pair.copy()
    assert pair.content(pair.future.log) == pair.content()
