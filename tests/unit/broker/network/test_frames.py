"""Whatever the pieces bytes arrive in, the same frames come out."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.network.frames import GROWTH, LEAST_ARRIVED, SMALL_FRAME, FrameDecoder, FrameSizeError

PLENTY = 1 << 30


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def scatter(data: bytes, targets: tuple[memoryview, ...]) -> int:
    """What recvmsg_into() does: fill one target after the other; the bytes that found room."""
    position = 0
    for target in targets:
        piece = data[position : position + len(target)]
        target[: len(piece)] = piece
        position += len(piece)
    return position


class Stream:
    """Feeds a decoder through a shared buffer, as a connection does."""

    def __init__(self, data: bytes, buffer_bytes: int = 65_536, max_size: int = 1 << 20) -> None:
        self.data = data
        self.position = 0
        self.shared = memoryview(bytearray(buffer_bytes))
        self.decoder = FrameDecoder(max_size)
        self.frames: list[bytes] = []

    def turn(self, nbytes: int, frames: int | None = None) -> bool:
        """Receive at most `nbytes`, take at most `frames`; whether whole frames are left."""
        decoder = self.decoder
        if decoder.needs_room:
            decoder.grow(PLENTY)
        if not decoder.has_window:
            received = scatter(
                self.data[self.position : self.position + nbytes], decoder.targets(self.shared)
            )
            self.position += received
            decoder.received(self.shared, received)
        while frames is None or frames > 0:
            whole = decoder.next_frame()
            if whole is None:
                break
            self.frames.append(bytes(whole))
            if frames is not None:
                frames -= 1
        more = decoder.suspend(PLENTY)
        self.shared[:] = b"\xff" * len(self.shared)  # nothing may still be in it
        return more

    def run(self, nbytes: int) -> list[bytes]:
        while self.position < len(self.data) or self.decoder.has_window:
            self.turn(nbytes)
        return self.frames


@given(
    bodies=st.lists(st.binary(max_size=200) | st.integers(0, 60_000).map(bytes), max_size=8),
    pieces=st.lists(st.integers(1, 70_000), min_size=1, max_size=20),
    taken=st.lists(st.integers(1, 3), min_size=1, max_size=5),
)
def test_frames_do_not_depend_on_how_they_arrive(
    bodies: list[bytes], pieces: list[int], taken: list[int]
) -> None:
    stream = Stream(b"".join(map(frame, bodies)))
    turn = 0
    more = False
    while stream.position < len(stream.data) or more:
        more = stream.turn(pieces[turn % len(pieces)], taken[turn % len(taken)])
        turn += 1
    assert stream.frames == bodies
    assert stream.decoder.held == 0


@pytest.mark.parametrize("size", [0, 1, 3, SMALL_FRAME, SMALL_FRAME + 1, 300_000])
def test_a_frame_may_come_byte_by_byte(size: int) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    step = 1 if size < 1000 else 997
    assert Stream(frame(body[:size]) + frame(b"next")).run(step) == [body[:size], b"next"]


def test_a_frame_larger_than_the_buffer_owns_its_bytes() -> None:
    stream = Stream(frame(b"a" * 100_000), buffer_bytes=65_536)
    stream.turn(65_536, frames=0)
    decoder = stream.decoder
    while decoder.needs_room:
        decoder.grow(PLENTY)
    own, _ = decoder.targets(stream.shared)
    own[:] = b"a" * len(own)
    decoder.received(stream.shared, len(own))
    whole = decoder.next_frame()
    assert whole is not None
    stream.shared[:] = bytes(65_536)
    assert bytes(whole) == b"a" * 100_000


@pytest.mark.parametrize("size", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_size_out_of_range_is_refused_after_the_frames_before_it(size: int) -> None:
    stream = Stream(frame(b"good") + struct.pack(">i", size) + b"rest", max_size=1000)
    with pytest.raises(FrameSizeError) as caught:
        stream.turn(1000)
    assert caught.value.size == size
    assert stream.frames == [b"good"]


@pytest.mark.parametrize("size", [-1, 1001])
def test_a_size_out_of_range_is_refused_also_when_it_was_put_aside(size: int) -> None:
    stream = Stream(frame(b"good") + struct.pack(">i", size) + b"rest", max_size=1000)
    assert stream.turn(1000, frames=1)
    with pytest.raises(FrameSizeError):
        stream.turn(1000)


def test_the_largest_allowed_frame_is_taken() -> None:
    assert Stream(frame(b"x" * 1000), max_size=1000).run(5000) == [b"x" * 1000]


def test_a_claimed_size_gets_memory_in_proportion_to_what_has_arrived() -> None:
    stream = Stream(struct.pack(">i", 1 << 20) + bytes(5000))
    stream.turn(5)
    assert stream.decoder.held <= 5
    stream = Stream(struct.pack(">i", 1 << 20) + bytes(5000))
    stream.turn(4 + 1000)
    assert stream.decoder.held == 1000 * GROWTH
    assert GROWTH * LEAST_ARRIVED <= 4096


def test_a_buffer_grows_by_no_more_than_the_room_there_is() -> None:
    decoder = FrameDecoder(1 << 20)
    shared = memoryview(bytearray(65_536))
    (target,) = decoder.targets(shared)
    target[:4] = struct.pack(">i", 500_000)
    decoder.received(shared, 1004)
    assert decoder.next_frame() is None
    assert not decoder.suspend(room=0)
    assert decoder.held == 1000
    assert decoder.needs_room
    decoder.grow(50)
    assert decoder.held == 1050
    assert [len(target) for target in decoder.targets(shared)] == [50]
    assert not decoder.needs_room


def test_frames_put_aside_are_counted_as_held() -> None:
    stream = Stream(frame(b"one") + frame(b"two"))
    assert stream.turn(1000, frames=1)
    assert stream.decoder.held == 7
    assert stream.decoder.has_window
    assert not stream.turn(1000)
    assert stream.decoder.held == 0
    assert stream.frames == [b"one", b"two"]


@pytest.mark.parametrize(
    ("data", "guess"),
    [
        (b"GET /metrics HTTP/1.1\r\n", "HTTP"),
        (b"POST / HTTP/1.1\r\n", "HTTP"),
        (b"HEAD / HTTP/1.1\r\n", "HTTP"),
        (b"\x16\x03\x01\x02\0\x01\0", "TLS"),
    ],
)
def test_a_size_that_is_another_protocols_beginning_is_named(data: bytes, guess: str) -> None:
    with pytest.raises(FrameSizeError, match=f"looks like {guess}"):
        Stream(data).run(100)


def test_any_other_size_is_told_as_it_is() -> None:
    assert str(FrameSizeError(7, 5)) == "frame of 7 bytes, allowed are 0 to 5"


def test_what_follows_a_frame_of_its_own_arrives_with_its_end() -> None:
    large = bytes(range(256)) * 200
    stream = Stream(frame(large) + frame(b"next") + frame(b"last")[:6])
    stream.turn(20_000)
    assert stream.frames == []
    stream.turn(60_000)
    assert stream.frames == [large, b"next"]
    assert stream.decoder.held == 6


def test_what_follows_a_frame_of_its_own_waits_behind_it() -> None:
    large = bytes(range(256)) * 200
    stream = Stream(frame(large) + frame(b"next"))
    stream.turn(20_000)
    assert stream.turn(60_000, frames=0)
    assert stream.decoder.has_window
    assert stream.turn(0, frames=1)
    assert stream.frames == [large]
    stream.turn(0)
    assert stream.frames == [large, b"next"]
    assert stream.decoder.held == 0
