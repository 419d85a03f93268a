"""Parts leave in order, slices are released once, and no turn is endless."""

import errno
import os
import socket
from collections.abc import Iterator

import pytest

from broker.network.transmission import (
    BLOCKED,
    COLD,
    DONE,
    TURN_BYTES,
    YIELDED,
    BrokenAnswer,
    Transmission,
    joined,
    read_whole,
    worth_reading,
)
from storage.errors import StorageError
from tests.support.network import Slice


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    with left, right:
        yield left, right


def drain(sock: socket.socket) -> bytes:
    pieces = []
    try:
        while piece := sock.recv(1 << 20):
            pieces.append(piece)
    except BlockingIOError:
        pass
    return b"".join(pieces)


def test_neighbouring_byte_strings_are_joined_around_slices() -> None:
    one = Slice(b"x")
    assert list(joined([b"a", b"b", one, b"c", bytearray(b"d")])) == [b"ab", one, b"cd"]
    assert list(joined([])) == []
    one.release()


def test_everything_arrives_in_order(ends: tuple[socket.socket, socket.socket]) -> None:
    left, right = ends
    data = Slice(b"x" * 30_000)
    transmission = Transmission([b"head", data, memoryview(b"tail")])
    assert transmission.advance(left) is DONE
    assert transmission.done
    assert drain(right) == b"head" + b"x" * 30_000 + b"tail"
    assert data.released == 1


def test_a_full_socket_blocks_and_goes_on_where_it_stopped(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    left, right = ends
    body = bytes(range(256)) * 8192
    data = Slice(body)
    transmission = Transmission([body, data, b"end"])
    received = b""
    while (progress := transmission.advance(left)) is not DONE:
        assert progress in (BLOCKED, YIELDED)
        received += drain(right)
    received += drain(right)
    assert received == body + body + b"end"
    assert data.released == 1


class Sink:
    """A socket that takes everything."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, int]] = []

    def send(self, data: bytes | memoryview, flags: int = 0) -> int:
        self.taken.append((len(data), flags))
        return len(data)


def test_a_turn_ends_after_a_megabyte() -> None:
    sink = Sink()
    transmission = Transmission([bytes(2 * TURN_BYTES + 5)])
    sock: socket.socket = sink  # type: ignore[assignment]  # it only needs `send`
    assert transmission.advance(sock) is YIELDED
    assert transmission.advance(sock) is YIELDED
    assert transmission.advance(sock) is DONE
    assert [size for size, _ in sink.taken] == [TURN_BYTES, TURN_BYTES, 5]


def test_appended_parts_follow(ends: tuple[socket.socket, socket.socket]) -> None:
    left, right = ends
    transmission = Transmission([b"one"])
    transmission.append([b"two", b"three"])
    assert transmission.advance(left) is DONE
    assert drain(right) == b"onetwothree"


def test_released_means_every_slice_once(ends: tuple[socket.socket, socket.socket]) -> None:
    left, _ = ends
    slices = [Slice(bytes(20_000)), Slice(bytes(50 << 20)), Slice(bytes(20_000))]
    transmission = Transmission(slices)
    assert transmission.advance(left) in (BLOCKED, YIELDED)
    transmission.release()
    transmission.release()
    assert [one.released for one in slices] == [1, 1, 1]


def test_a_truncated_slice_is_not_sent(ends: tuple[socket.socket, socket.socket]) -> None:
    left, right = ends
    data = Slice(bytes(20_000))
    data.intact = False
    transmission = Transmission([data])
    with pytest.raises(BrokenAnswer, match="truncated"):
        transmission.advance(left)
    transmission.release()
    assert drain(right) == b""


def test_an_early_end_of_file_breaks_the_answer(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    left, _ = ends
    data = Slice(bytes(20_000), promised=20_001)
    transmission = Transmission([data])
    with pytest.raises(BrokenAnswer, match="20000 of 20001"):
        transmission.advance(left)
    transmission.release()
    assert data.released == 1


def test_a_cold_piece_is_sent_by_whoever_may_sleep(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = ends
    monkeypatch.setattr("broker.network.transmission.resident", lambda *_: False)
    data = Slice(b"y" * 20_000)
    transmission = Transmission([b"head", data, b"tail"])
    assert transmission.advance(left) is COLD
    sent = transmission.cold_piece(left).send()
    assert sent == 20_000
    transmission.piece_sent(sent)
    assert data.released == 1
    assert transmission.advance(left) is DONE
    assert drain(right) == b"head" + b"y" * 20_000 + b"tail"


def test_a_cold_piece_on_a_full_socket_sends_nothing(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    left, _ = ends
    try:
        while True:
            left.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    data = Slice(bytes(20_000))
    transmission = Transmission([data])
    assert transmission.cold_piece(left).send() == 0
    transmission.piece_sent(0)
    assert not transmission.done
    transmission.release()


def test_a_cold_piece_beyond_the_end_breaks_the_answer(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    left, _ = ends
    data = Slice(b"", promised=20_000)
    transmission = Transmission([data])
    with pytest.raises(BrokenAnswer):
        transmission.cold_piece(left).send()
    data.intact = False
    with pytest.raises(BrokenAnswer):
        transmission.cold_piece(left)
    transmission.release()


def test_small_slices_are_worth_reading_large_ones_are_not() -> None:
    small, large = Slice(bytes(16_383)), Slice(bytes(16_384))
    assert worth_reading(small)
    assert not worth_reading(large)
    assert read_whole(small) == bytes(16_383)
    assert small.released == 1
    large.release()


def test_a_short_file_read_whole_is_released_and_refused() -> None:
    short = Slice(b"abc", promised=4)
    with pytest.raises(BrokenAnswer):
        read_whole(short)
    assert short.released == 1


def test_a_truncated_slice_is_not_read_either() -> None:
    cut = Slice(b"abc")
    cut.intact = False
    with pytest.raises(BrokenAnswer, match="truncated"):
        read_whole(cut)
    assert cut.released == 1


class Unreadable(Slice):
    def read(self) -> bytes:
        raise StorageError("/data", "Error while reading", OSError(5, "Input/output error"))


def test_a_slice_that_cannot_be_read_breaks_the_answer_it_is_part_of() -> None:
    failing = Unreadable(b"abc")
    with pytest.raises(BrokenAnswer, match="Input/output error"):
        read_whole(failing)
    assert failing.released == 1


def test_a_disk_that_fails_while_sending_breaks_the_answer_and_is_no_lost_peer(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_disk(_out: int, _in: int, _offset: int, _count: int) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "sendfile", failing_disk)
    data = Slice(b"x" * 30_000)
    transmission = Transmission([data])
    with pytest.raises(BrokenAnswer, match="Input/output error"):
        transmission.advance(ends[0])
    with pytest.raises(BrokenAnswer, match="Input/output error"):
        transmission.cold_piece(ends[0]).send()
    transmission.release()
    assert data.released == 1
