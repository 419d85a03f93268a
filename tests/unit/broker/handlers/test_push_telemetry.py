"""PushTelemetry: checked at once, read afterwards, nothing pushed is fine."""

import asyncio

import pytest

from broker.handlers.push_telemetry import handle_push_telemetry
from broker.telemetry.export import Exporter
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from runtime.blocking import Workers
from tests.support.manual_clock import ManualClock
from tests.support.telemetry import ID, Telemetry, context, gauge, metrics, push


class House:
    """A client that was asked for everything."""

    def __init__(self) -> None:
        self.telemetry = Telemetry()
        self.telemetry.configs.set("s", {"metrics": "*"})
        self.clock = ManualClock()
        client = self.telemetry.clients.subscribe(ID, context(), int(self.clock.monotonic() * 1000))
        self.number = client.asked.subscription_id

    async def push(self, request: PushTelemetryRequest) -> int:
        workers = Workers(asyncio.get_running_loop(), 1)
        exporter = Exporter(self.telemetry.clients, workers)
        try:
            response = handle_push_telemetry(
                context(),
                request,
                telemetry=self.telemetry.clients,
                exporter=exporter,
                clock=self.clock,
            )
            if not isinstance(response, PushTelemetryResponse):
                response = await response
        finally:
            workers.close(wait=True)
        assert PushTelemetryResponse.decode(response.encode(0), 0) == response
        return response.error_code


async def test_what_is_pushed_is_shown() -> None:
    house = House()
    assert await house.push(push(house.number, metrics(gauge("g", 7)))) == 0
    [one] = house.telemetry.shown(counters=False)
    assert (one.labels["metric"], one.value) == ("g", 7)


async def test_nothing_is_fine_and_answered_at_once() -> None:
    house = House()
    assert await house.push(push(house.number)) == 0
    assert house.telemetry.clients.meters.exported == 0


@pytest.mark.parametrize(
    ("off", "data", "code"),
    [
        (1, b"", ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        (0, b"{}", ErrorCode.INVALID_RECORD),
        (0, bytes(1001), ErrorCode.TELEMETRY_TOO_LARGE),
    ],
)
async def test_a_push_is_refused_as_a_whole(off: int, data: bytes, code: ErrorCode) -> None:
    house = House()
    with pytest.raises(KafkaError) as refused:
        await house.push(push(house.number + off, data))
    assert refused.value.code == code
