"""A probe never says that a file that is in memory, or cannot be asked, would wait."""

import errno
import os
import tempfile

import pytest

from broker.network import page_cache
from broker.network.page_cache import STRIDE, resident


def test_what_was_just_written_is_in_memory() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(3 * STRIDE))
        file.flush()
        assert resident(file.fileno(), 0, 3 * STRIDE)
        assert resident(file.fileno(), 10, 1)


def test_an_empty_range_waits_for_nothing() -> None:
    assert resident(-1, 0, 0)


def test_a_range_is_probed_once_a_stride_and_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    probes: list[int] = []

    def preadv(fd: int, buffers: object, position: int, flags: int) -> int:
        probes.append(position)
        return 1

    monkeypatch.setattr(os, "preadv", preadv)
    assert resident(3, 100, 2 * STRIDE)
    assert probes == [100, 100 + STRIDE, 100 + 2 * STRIDE - 1]


def test_a_page_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def preadv(fd: int, buffers: object, position: int, flags: int) -> int:
        if position > 1000:
            raise BlockingIOError
        return 1

    monkeypatch.setattr(os, "preadv", preadv)
    assert resident(3, 0, 900)
    assert not resident(3, 0, 2000)


def test_where_nobody_can_tell_everything_counts_as_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def preadv(fd: int, buffers: object, position: int, flags: int) -> int:
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "preadv", preadv)
    assert resident(3, 0, 100)
    monkeypatch.setattr(page_cache, "_NOWAIT", 0)
    assert resident(-1, 0, 100)
