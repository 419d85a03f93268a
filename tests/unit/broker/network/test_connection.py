"""One request at a time, answers in order, bounded buffers, whatever the peer does."""

import asyncio
import logging
import random
import socket
import struct

import pytest

from broker.network import connection as connection_module
from tests.support.network import Client, Slice, frame, served


async def test_a_request_is_answered() -> None:
    async with served() as running:
        client = await running.client()
        assert await client.ask(b"ehello") == b"hello"
        client.close()


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with served() as running:
        client = await running.client()
        bodies = [b"e%d" % number for number in range(1000)]
        await client.send(b"".join(map(frame, bodies)))
        assert [await client.receive_frame() for _ in bodies] == [body[1:] for body in bodies]
        client.close()


async def test_a_client_that_sends_byte_by_byte_is_served() -> None:
    async with served() as running:
        slow, other = await running.client(), await running.client()
        for byte in frame(b"eslow") + frame(b"eagain"):
            await slow.send(bytes([byte]))
            assert await other.ask(b"equick") == b"quick"
        assert await slow.receive_frame() == b"slow"
        assert await slow.receive_frame() == b"again"
        slow.close()
        other.close()


@pytest.mark.parametrize("size", [15_000, 17_000, 300_000, 524_288, 900_000])
async def test_frames_larger_than_what_arrives_at_once_come_whole(size: int) -> None:
    async with served() as running:
        client = await running.client()
        body = b"e" + random.Random(size).randbytes(size)
        await client.send(frame(body) * 3)
        for _ in range(3):
            assert await client.receive_frame() == body[1:]
        await running.until(lambda: running.server.held_bytes == 0)
        client.close()


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n", 0x47455420),
        (struct.pack(">i", -1), -1),
        (struct.pack(">i", -(2**31)) + b"x", -(2**31)),
        (struct.pack(">i", (1 << 20) + 1), (1 << 20) + 1),
        (struct.pack(">i", 2**31 - 1) + bytes(100), 2**31 - 1),
    ],
)
async def test_a_size_no_frame_may_have_closes_the_connection_with_one_line(
    data: bytes, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as running:
        client, other = await running.client(), await running.client()
        with caplog.at_level(logging.WARNING):
            await client.send(frame(b"ebefore") + data)
            assert await client.receive_frame() == b"before"
            assert await client.at_end()
        assert running.server.bad_frames == 1
        assert await other.ask(b"estill here") == b"still here"
        [line] = caplog.messages
        assert str(size) in line
        assert "127.0.0.1" in line
        client.close()
        other.close()


async def test_a_truncated_frame_and_a_close_leave_nothing_behind() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(struct.pack(">i", 500_000) + bytes(200_000))
        await running.until(lambda: running.server.held_bytes > 0)
        client.close()
        await running.until(lambda: running.server.open_connections == 0)
        assert running.server.held_bytes == 0
        assert running.handler.handled == []


async def test_a_claimed_size_costs_nothing_before_bytes_arrive() -> None:
    async with served(max_request_bytes=100 << 20) as running:
        clients = [await running.client() for _ in range(10)]
        for client in clients:
            await client.send(struct.pack(">i", 100 << 20) + b"x")
        await running.until(lambda: running.server.held_bytes > 0)
        await asyncio.sleep(0.01)
        assert running.server.held_bytes == 10 * 5
        for client in clients:
            client.close()


async def test_requests_behind_a_pending_one_wait_for_its_answer() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"eone") + frame(b"ptwo") + frame(b"ethree") + frame(b"pfour"))
        assert await client.receive_frame() == b"one"
        await client.send(frame(b"efive"))
        assert running.handler.handled == [b"eone", b"ptwo"]
        running.handler.pending[0].answer()
        assert await client.receive_frame() == b"two"
        assert await client.receive_frame() == b"three"
        await running.until(lambda: len(running.handler.pending) == 2)
        running.handler.pending[1].answer()
        assert await client.receive_frame() == b"four"
        assert await client.receive_frame() == b"five"
        client.close()


async def test_a_client_that_floods_behind_a_pending_request_is_held_in_the_kernel() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        flood = asyncio.ensure_future(client.send(frame(b"e" + bytes(49_999)) * 400))
        await asyncio.sleep(0.02)
        assert not flood.done()
        assert running.server.held_bytes <= 512 * 1024
        running.handler.pending[0].answer(b"go")
        assert await client.receive_frame() == b"go"
        for _ in range(400):
            assert len(await client.receive_frame()) == 49_999
        await flood
        client.close()


async def test_a_pending_request_is_abandoned_when_the_client_leaves() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        client.close()
        await running.until(lambda: running.handler.pending[0].abandoned)
        assert running.server.open_connections == 0


async def test_the_answer_to_an_abandoned_request_is_thrown_away_with_its_slices() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        pending = running.handler.pending[0]
        client.close()
        await running.until(lambda: pending.abandoned)
        late = Slice(bytes(20_000))
        pending.answer(b"head", late)
        assert late.released == 1


async def test_a_pending_request_may_end_in_closing() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        running.handler.pending[0].close()
        assert await client.at_end()
        assert not running.handler.pending[0].abandoned
        client.close()


async def test_a_handler_may_close_the_connection_after_earlier_answers() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"eone") + frame(b"c") + frame(b"enever"))
        assert await client.receive_frame() == b"one"
        assert await client.at_end()
        assert running.handler.handled == [b"eone", b"c"]
        client.close()


async def test_a_request_without_an_answer_does_not_hold_up_the_next() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"n") * 5 + frame(b"elast"))
        assert await client.receive_frame() == b"last"
        assert running.handler.metrics.count == 6
        client.close()


async def test_a_handler_that_fails_closes_its_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served() as running:
        client, other = await running.client(), await running.client()
        with caplog.at_level(logging.ERROR):
            await client.send(frame(b"x"))
            assert await client.at_end()
        assert "turn failed" in caplog.text
        assert await other.ask(b"efine") == b"fine"
        client.close()
        other.close()


async def test_a_reader_that_does_not_read_costs_one_batch_of_answers() -> None:
    async with served(send_buffer_bytes=16_384) as running:
        client = await running.client(receive_buffer_bytes=16_384)
        sending = asyncio.ensure_future(client.send(frame(b"e" + bytes(100_000)) * 100))
        await running.until(lambda: len(running.handler.handled) >= 1)
        await asyncio.sleep(0.02)
        handled = len(running.handler.handled)
        assert handled < 20
        assert not sending.done()
        for _ in range(100):
            assert len(await client.receive_frame()) == 100_000
        await sending
        assert running.handler.metrics.count == 100
        client.close()


async def test_a_reader_that_leaves_in_the_middle_of_an_answer_releases_the_rest() -> None:
    async with served(send_buffer_bytes=16_384) as running:
        slices = [Slice(bytes(1 << 20)), Slice(bytes(1 << 20))]
        running.handler.slices.append([b"head", *slices])
        client = await running.client(receive_buffer_bytes=16_384)
        await client.send(frame(b"s"))
        assert len(await client.receive(1000)) == 1000
        client.close()
        await running.until(lambda: running.server.open_connections == 0)
        assert [one.released for one in slices] == [1, 1]


@pytest.mark.parametrize("send_buffer_bytes", [-1, 4096])
async def test_slices_arrive_whole_whatever_their_size(send_buffer_bytes: int) -> None:
    async with served(send_buffer_bytes=send_buffer_bytes) as running:
        source = random.Random(7)
        datas = [source.randbytes(size) for size in (1_500_000, 10, 16_383, 16_384)]
        slices = [Slice(data, position=77) for data in datas]
        parts: list[bytes | Slice] = [b"head"]
        expected = b"head"
        for data, one in zip(datas, slices, strict=True):
            parts += [one, b"between"]
            expected += data + b"between"
        running.handler.slices += [parts, [b"small", Slice(b"slice")]]
        client = await running.client()
        await client.send(frame(b"eone") + frame(b"s") + frame(b"s") + frame(b"elast"))
        assert await client.receive_frame() == b"one"
        assert await client.receive_frame() == expected
        assert await client.receive_frame() == b"smallslice"
        assert await client.receive_frame() == b"last"
        assert [one.released for one in slices] == [1] * len(slices)
        assert running.handler.metrics.count == 4
        client.close()


@pytest.mark.parametrize("size", [1000, 50_000])
async def test_a_file_shorter_than_promised_closes_the_connection(
    size: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as running:
        short, behind = Slice(bytes(size), promised=size + 1), Slice(bytes(20_000))
        running.handler.slices.append([b"head", short, behind])
        client = await running.client()
        with caplog.at_level(logging.WARNING):
            await client.send(frame(b"s"))
            received = await client.receive(1 << 20)
        assert len(received) < size + 1 + 20_000
        assert (short.released, behind.released) == (1, 1)
        assert running.server.broken_answers == 1
        assert "in the middle of an answer" in caplog.text
        client.close()


async def test_a_log_truncated_under_a_slice_closes_the_connection() -> None:
    async with served(send_buffer_bytes=16_384) as running:
        cut = Slice(bytes(4 << 20))
        running.handler.slices.append([b"head", cut])
        client = await running.client(receive_buffer_bytes=16_384)
        await client.send(frame(b"s"))
        await client.receive(1000)
        cut.intact = False
        assert len(await client.receive(5 << 20)) < 4 << 20
        assert cut.released == 1
        client.close()


async def test_a_slice_that_is_not_in_memory_is_sent_from_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probes = iter([False, True, False, *[True] * 1000])
    monkeypatch.setattr(
        "broker.network.transmission.resident", lambda fd, position, nbytes: next(probes)
    )
    async with served(send_buffer_bytes=16_384) as running:
        data = random.Random(3).randbytes(1 << 20)
        cold = Slice(data)
        running.handler.slices.append([b"head", cold, b"tail"])
        client = await running.client()
        assert await client.ask(b"s") == b"head" + data + b"tail"
        assert cold.released == 1
        client.close()


async def test_a_client_that_leaves_while_a_worker_sends_harms_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.network.transmission.resident", lambda *_: False)
    async with served(send_buffer_bytes=16_384) as running:
        cold = Slice(bytes(8 << 20))
        running.handler.slices.append([b"head", cold])
        client, other = await running.client(receive_buffer_bytes=16_384), await running.client()
        await client.send(frame(b"s"))
        await client.receive(1000)
        client.close()
        assert await other.ask(b"efine") == b"fine"
        await running.until(lambda: running.server.open_connections == 1)
        assert cold.released == 1
        other.close()


async def test_a_late_answer_with_slices_is_sent() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p") + frame(b"eafter"))
        await running.until(lambda: len(running.handler.pending) == 1)
        data = random.Random(1).randbytes(2_000_000)
        running.handler.pending[0].answer(b"late", Slice(data))
        assert await client.receive_frame() == b"late" + data
        assert await client.receive_frame() == b"after"
        client.close()


async def test_a_pending_answer_that_comes_while_earlier_ones_are_unsent_follows_them() -> None:
    async with served(send_buffer_bytes=4096) as running:
        running.handler.slices.append([bytes(200_000)])
        client = await running.client(receive_buffer_bytes=4096)
        await client.send(frame(b"s") + frame(b"plate") + frame(b"eend"))
        await running.until(lambda: len(running.handler.pending) == 1)
        running.handler.pending[0].answer()
        assert len(await client.receive_frame()) == 200_000
        assert await client.receive_frame() == b"late"
        assert await client.receive_frame() == b"end"
        client.close()


async def test_many_small_requests_of_one_client_do_not_keep_another_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "TURN_FRAMES", 4)
    async with served() as running:
        busy, other = await running.client(), await running.client()
        await other.ask(b"ewarm")
        running.handler.handled.clear()
        await busy.send(frame(b"ebusy") * 2000)
        await other.send(frame(b"eother"))
        assert await other.receive_frame() == b"other"
        assert running.handler.handled.index(b"eother") < 2000
        for _ in range(2000):
            assert await busy.receive_frame() == b"busy"
        busy.close()
        other.close()


async def test_large_frames_share_bounded_memory_and_all_get_through() -> None:
    async with served(request_memory_bytes=1 << 20, max_request_bytes=4 << 20) as running:
        clients = [await running.client() for _ in range(6)]
        bodies = [b"e" + random.Random(seed).randbytes(3 << 20) for seed in range(6)]
        peak = 0

        async def converse(client: Client, body: bytes) -> None:
            await client.send(frame(body))
            assert await client.receive_frame() == body[1:]

        tasks = [
            asyncio.ensure_future(converse(client, body))
            for client, body in zip(clients, bodies, strict=True)
        ]
        while not all(task.done() for task in tasks):
            peak = max(peak, running.server.held_bytes)
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        assert peak <= (1 << 20) + (4 << 20) + 6 * (512 << 10)
        assert running.server.held_bytes == 0
        for client in clients:
            client.close()


async def test_a_large_frame_is_held_until_its_pending_answer() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p" + bytes(700_000)))
        await running.until(lambda: len(running.handler.pending) == 1)
        await running.until(lambda: running.server.held_bytes > 0)
        assert running.server.held_bytes == 700_001
        running.handler.pending[0].answer(b"done")
        assert await client.receive_frame() == b"done"
        assert running.server.held_bytes == 0
        client.close()


async def test_a_pending_answer_meets_a_connection_lost_in_the_same_turn() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        await running.server.stop(0)
        assert running.handler.pending[0].abandoned
        running.handler.pending[0].answer(b"nobody")
        client.close()


def reset(client: Client) -> None:
    """Leave the way a crashed process does."""
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


async def test_a_reset_connection_is_closed_quietly(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as running:
        client = await running.client()
        await client.ask(b"e")
        reset(client)
        await running.until(lambda: running.server.open_connections == 0)
        assert caplog.messages == []


async def test_a_reset_while_a_request_is_pending_abandons_it() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        reset(client)
        await running.until(lambda: running.handler.pending[0].abandoned)


async def test_an_answer_to_a_peer_that_left_unnoticed_is_thrown_away() -> None:
    async with served() as running:
        for parts in ([b"bytes"], [b"head", Slice(bytes(100_000))]):
            running.handler.pending.clear()
            client = await running.client()
            await client.send(frame(b"p"))
            await running.until(lambda: len(running.handler.pending) == 1)
            await client.send(frame(b"emore"))  # reading stops here
            await asyncio.sleep(0.01)
            reset(client)
            await asyncio.sleep(0.01)
            running.handler.pending[0].answer(*parts)
            assert running.server.open_connections == 0
            assert [one.released for one in parts if isinstance(one, Slice)] in ([], [1])


async def test_a_pending_request_behind_answers_that_cannot_be_sent_is_abandoned() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p") + frame(b"eone") + frame(b"ptwo"))
        await running.until(lambda: len(running.handler.pending) == 1)
        await client.send(frame(b"emore"))
        await asyncio.sleep(0.01)
        running.handler.pending[0].answer()
        reset(client)
        await running.until(lambda: running.server.open_connections == 0)
        assert all(pending.abandoned for pending in running.handler.pending[1:])


async def test_a_reset_in_the_middle_of_an_answer_ends_it() -> None:
    async with served(send_buffer_bytes=16_384) as running:
        big = Slice(bytes(4 << 20))
        running.handler.slices.append([b"head", big])
        client = await running.client(receive_buffer_bytes=16_384)
        await client.send(frame(b"s"))
        await client.receive(1000)
        reset(client)
        await running.until(lambda: running.server.open_connections == 0)
        assert big.released == 1
