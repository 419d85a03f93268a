"""Pushes become series: unfolded within bounds, read in turns, refused as a whole."""

import asyncio

import pytest

from broker.telemetry import export as module
from broker.telemetry.clients import Client
from broker.telemetry.export import Exporter
from protocol.errors import ErrorCode, KafkaError
from protocol.records.compression import compress
from runtime.blocking import Workers
from tests.support.telemetry import ID, Telemetry, context, gauge, metrics, total

PUSHED = metrics(gauge("g", 1.5), total("c", 3, is_delta=True), resource={"group_id": "g"})


class House:
    """A broker's end, with a client that was asked for everything."""

    def __init__(self, **bounds: int) -> None:
        self.telemetry = Telemetry(**bounds)
        self.telemetry.configs.set("s", {"metrics": "*", "interval.ms": "60000"})
        self.workers = Workers(asyncio.get_running_loop(), 2)
        self.exporter = Exporter(self.telemetry.clients, self.workers)
        self.client: Client = self.telemetry.clients.subscribe(ID, context(), 0)

    async def push(self, data: bytes, codec: int = 0) -> int:
        try:
            await self.exporter.export(self.client, codec, data, 0)
        except KafkaError as error:
            return error.code
        return 0

    async def close(self) -> None:
        await self.workers.drain()
        self.workers.close(wait=True)


@pytest.mark.parametrize("codec", range(5))
async def test_every_codec_is_unfolded(codec: int) -> None:
    house = House()
    for _ in range(2):
        assert await house.push(compress(codec, PUSHED), codec) == 0
    for counters, name, value in ((False, "g", 1.5), (True, "c", 6)):
        [one] = house.telemetry.shown(counters=counters)
        assert (one.labels["metric"], one.value) == (name, value)
        assert one.labels["client_id"] == "app-1"
    [info] = house.telemetry.series.infos()
    assert (info["group_id"], info["client_software_name"]) == ("g", "librdkafka")
    assert house.telemetry.clients.meters.exported == 2
    await house.close()


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (0, PUSHED[:-1]),
        (0, b"{}"),
        (4, PUSHED),
        (1, compress(1, PUSHED)[:-9]),
        (4, compress(4, bytes(1001))),
    ],
)
async def test_what_is_none_is_refused_and_remembered(codec: int, data: bytes) -> None:
    house = House()
    assert await house.push(data, codec) == ErrorCode.INVALID_RECORD
    assert house.client.last_error == ErrorCode.INVALID_RECORD
    meters = house.telemetry.clients.meters
    assert (meters.failed, meters.exported) == (1, 0)
    await house.close()


async def test_series_outlive_the_client_by_three_intervals() -> None:
    house = House()
    await house.push(PUSHED)
    house.telemetry.clients.disconnected("c1")
    house.telemetry.clients.expire(179_999)
    assert house.telemetry.series.count == 2
    house.telemetry.clients.expire(180_000)
    assert house.telemetry.series.count == 0
    await house.close()


async def test_a_push_of_many_points_lets_others_have_their_turn() -> None:
    house = House(most_of_one=1000)
    turns = 0
    pushing = asyncio.ensure_future(
        house.push(metrics(*(gauge(f"g{number}", 1) for number in range(950))))
    )
    while not pushing.done():
        turns += 1
        await asyncio.sleep(0)
    assert await pushing == 0
    assert house.telemetry.series.count == 950
    assert turns > 9
    await house.close()


async def test_a_push_of_too_many_fields_is_cut_off_and_counted() -> None:
    house = House(most_of_one=10)
    data = metrics(*(gauge(f"g{number}", 1) for number in range(500)))
    assert await house.push(data) == 0
    series = house.telemetry.series
    assert series.count == 10
    assert 10 < series.dropped < 100
    await house.close()


async def test_who_comes_when_too_many_wait_is_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    house = House()
    data = compress(4, PUSHED)
    codes = await asyncio.gather(*(house.push(data, 4) for _ in range(5)))
    assert sorted(codes) == [0, 0, 0, *[ErrorCode.THROTTLING_QUOTA_EXCEEDED] * 2]
    assert house.client.last_error == ErrorCode.NONE
    assert await house.push(data, 4) == 0
    await house.close()
