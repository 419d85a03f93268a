"""Limits on connections, idle ones closed, and a stop that loses no answer."""

import asyncio
import logging
import socket
import struct
from functools import partial

import pytest

from broker.dispatch import Dispatcher
from broker.handlers.api_versions import advertised, handle_api_versions
from broker.network.listener import SocketOptions, bind
from broker.network.socket_server import STALLED_S
from broker.request_metrics import RequestMetricsRegistry
from cluster.features import NO_FEATURES
from protocol.api_keys import ApiKey
from protocol.headers import encode_request
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from runtime.supervisor import Supervisor
from tests.support.network import Client, Slice, frame, served


async def test_at_the_limit_in_all_new_clients_wait_until_one_leaves() -> None:
    async with served(max_connections=2) as running:
        first, second, third = [await running.client() for _ in range(3)]
        assert await first.ask(b"e1") == b"1"
        assert await second.ask(b"e2") == b"2"
        await third.send(frame(b"e3"))
        await asyncio.sleep(0.01)
        assert running.server.open_connections == 2
        first.close()
        assert await third.receive_frame() == b"3"
        second.close()
        third.close()


async def test_an_address_over_its_limit_is_closed_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served(max_per_host=1) as running:
        first = await running.client()
        assert await first.ask(b"e1") == b"1"
        with caplog.at_level(logging.WARNING):
            second = await running.client()
            assert await second.at_end()
        assert running.limits.refused == 1
        assert "127.0.0.1" in caplog.text
        assert await first.ask(b"e2") == b"2"
        first.close()
        second.close()


async def test_an_idle_connection_is_closed_a_busy_or_active_one_is_not() -> None:
    async with served(max_idle_ms=60_000) as running:
        idle, active, waiting = [await running.client() for _ in range(3)]
        for client in (idle, active):
            await client.ask(b"e")
        await waiting.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        running.clock.advance(59_000)
        await active.ask(b"e")
        running.clock.advance(2_000)
        running.server.scan()
        assert await idle.at_end()
        assert running.server.idle_closed == 1
        assert await active.ask(b"ehere") == b"here"
        running.handler.pending[0].answer(b"too")
        assert await waiting.receive_frame() == b"too"
        for client in (idle, active, waiting):
            client.close()


async def test_a_peer_that_takes_nothing_of_its_answer_is_idle() -> None:
    async with served(max_idle_ms=60_000, send_buffer_bytes=4096) as running:
        file = Slice(bytes(4 << 20))
        running.handler.slices = [[b"head", file]]
        stuck = await running.client(receive_buffer_bytes=4096)
        await stuck.send(frame(b"s"))
        await running.until(lambda: running.handler.handled == [b"s"])
        running.clock.advance(59_000)
        running.server.scan()
        assert running.server.open_connections == 1
        running.clock.advance(2_000)
        running.server.scan()
        assert running.server.open_connections == 0
        assert running.server.idle_closed == 1
        assert file.released == 1
        stuck.close()


async def test_a_peer_lost_behind_a_waiting_request_and_more_is_found_by_its_idle_time() -> None:
    async with served(max_idle_ms=60_000) as running:
        lost = await running.client()
        await lost.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        await lost.send(frame(b"emore"))
        lost.close()
        running.clock.advance(61_000)

        def found() -> bool:
            running.server.scan()
            return running.server.open_connections == 0

        await running.until(found)
        assert running.handler.pending[0].abandoned
        running.handler.pending[0].answer(b"too late")


async def test_a_peer_that_takes_its_answer_slowly_is_not_idle() -> None:
    async with served(max_idle_ms=60_000, send_buffer_bytes=4096) as running:
        running.handler.slices = [[b"head", Slice(bytes(1 << 20))]]
        slow = await running.client(receive_buffer_bytes=4096)
        await slow.send(frame(b"s"))
        for _ in range(8):
            running.clock.advance(50_000)
            assert len(await slow.receive(100_000)) == 100_000
            running.server.scan()
        assert len(await slow.receive(4 + 4 + (1 << 20) - 800_000)) == 8 + (1 << 20) - 800_000
        slow.close()


async def test_a_negative_idle_time_means_for_ever() -> None:
    async with served(max_idle_ms=-1) as running:
        client = await running.client()
        await client.ask(b"e")
        running.clock.advance(10**9)
        running.server.scan()
        assert await client.ask(b"ehere") == b"here"
        client.close()


async def test_the_scan_runs_by_itself() -> None:
    async with served(max_idle_ms=100) as running:
        client = await running.client()
        await client.ask(b"e")
        running.clock.advance(1000)
        assert await client.at_end()
        client.close()


async def test_a_stalled_frame_beyond_the_memory_cap_is_closed_for_those_who_wait() -> None:
    async with served(request_memory_bytes=100_000, max_request_bytes=4 << 20) as running:
        stalled, other = await running.client(), await running.client()
        await stalled.send(struct.pack(">i", 3 << 20) + bytes(400_000))
        await running.until(lambda: running.server.held_bytes >= 400_000)
        sending = asyncio.ensure_future(other.send(frame(b"e" + bytes(2 << 20))))
        await running.until(lambda: running.server.waiting_for_memory == 1)
        running.server.scan()
        assert running.server.open_connections == 2
        running.clock.advance(int(STALLED_S * 1000) + 1)
        running.server.scan()
        assert await stalled.at_end()
        assert len(await other.receive_frame()) == 2 << 20
        await sending
        stalled.close()
        other.close()


async def test_stopping_answers_what_is_in_flight_and_closes_the_rest() -> None:
    async with served() as running:
        idle, busy, partial = [await running.client() for _ in range(3)]
        await idle.ask(b"e")
        await partial.send(b"\0\0\0\x09half")
        await busy.send(frame(b"p") + frame(b"ebehind"))
        await running.until(lambda: len(running.handler.pending) == 1)
        address = running.listener.address
        stopping = asyncio.ensure_future(running.server.stop(10))
        assert await idle.at_end()
        assert await partial.at_end()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        running.handler.pending[0].answer(b"last")
        assert await busy.receive_frame() == b"last"
        assert await busy.receive_frame() == b"behind"
        assert await busy.at_end()
        await stopping
        for client in (idle, busy, partial):
            client.close()


async def test_stopping_does_not_wait_for_ever() -> None:
    async with served() as running:
        client = await running.client()
        await client.send(frame(b"p"))
        await running.until(lambda: len(running.handler.pending) == 1)
        await running.server.stop(0.01)
        assert running.handler.pending[0].abandoned
        assert running.server.open_connections == 0
        assert await client.at_end()
        client.close()


async def test_connections_are_told_apart() -> None:
    async with served() as running:
        clients: list[Client] = [await running.client() for _ in range(3)]
        for client in clients:
            await client.ask(b"e")
        assert running.listener.accepted == 3
        assert running.server.open_connections == 3
        assert [listener.name for listener in running.server.listeners] == ["TEST"]
        for client in clients:
            client.close()
        await running.until(lambda: running.server.closed_connections == 3)


async def test_connections_are_counted_by_listener() -> None:
    async with served() as running:
        other = bind("127.0.0.1", 0, SocketOptions())
        address = other.getsockname()[:2]
        running.server.add_listener("OTHER", other)
        running.server.open()
        first = await running.client()
        await first.ask(b"e")
        second = Client(socket.create_connection(address))
        second.sock.setblocking(False)
        await second.ask(b"e")
        assert running.server.open_by_listener == {"TEST": 1, "OTHER": 1}
        second.close()
        await running.until(lambda: running.server.open_by_listener["OTHER"] == 0)
        assert running.server.open_by_listener == {"TEST": 1, "OTHER": 0}
        first.close()


async def test_many_idle_connections_hold_no_buffers() -> None:
    async with served() as running:
        clients = [await running.client() for _ in range(100)]
        for client in clients:
            await client.ask(b"e")
        assert running.server.held_bytes == 0
        for client in clients:
            client.close()


async def test_a_raised_limit_takes_effect_with_the_next_scan() -> None:
    allowed = [1]
    async with served() as running:
        running.limits._max_in_all = lambda: allowed[0]
        first, second = await running.client(), await running.client()
        await first.ask(b"e")
        await second.send(frame(b"enow"))
        await asyncio.sleep(0.01)
        assert running.server.open_connections == 1
        allowed[0] = 2
        running.server.scan()
        assert await second.receive_frame() == b"now"
        first.close()
        second.close()


async def test_kafka_requests_are_answered_over_a_socket() -> None:
    loop = asyncio.get_running_loop()
    async with served() as running:
        handle = partial(
            handle_api_versions,
            api_versions=advertised([ApiKey.API_VERSIONS]),
            features=lambda: NO_FEATURES,
        )
        metrics = RequestMetricsRegistry()
        running.server._shared.handler = Dispatcher(
            {ApiKey.API_VERSIONS: handle}, Supervisor(loop), running.clock.monotonic, metrics
        )
        client = await running.client()
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        for version in (0, 3, 4):
            await client.send(encode_request(request, version, 7, "client"))
            response = ApiVersionsResponse.decode(await client.receive_frame(), version, 4)
            assert response.error_code == 0
            assert [api.api_key for api in response.api_keys] == [18]
        assert metrics.of("ApiVersions").count == 3
        await client.send(frame(b"\0\x03\0\x08\0\0\0\x01\xff\xff"))
        assert await client.at_end()
        assert metrics.bad_frames == 1
        client.close()


async def test_whom_a_lost_connection_concerns_is_told_where_it_came_from() -> None:
    async with served() as running:
        client = await running.client()
        await client.ask(b"e")
        [connection] = running.server._connections
        assert connection.peer.client_port == client.sock.getsockname()[1]
        gone: list[str] = []
        connection.peer.when_gone(lambda: gone.append("gone"))
        client.close()
        await running.until(lambda: gone == ["gone"])
