"""GetTelemetrySubscriptions: everything a client must know to push."""

import pytest

from broker.context import RequestContext
from broker.handlers.get_telemetry_subscriptions import handle_get_telemetry_subscriptions
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from tests.support.manual_clock import ManualClock
from tests.support.telemetry import ID, Telemetry, context


def ask(
    telemetry: Telemetry,
    clock: ManualClock,
    instance_id: bytes = ID,
    asks: RequestContext | None = None,
) -> GetTelemetrySubscriptionsResponse:
    response = handle_get_telemetry_subscriptions(
        asks or context(),
        GetTelemetrySubscriptionsRequest(client_instance_id=instance_id),
        telemetry=telemetry.clients,
        clock=clock,
    )
    assert GetTelemetrySubscriptionsResponse.decode(response.encode(0), 0) == response
    return response


def test_a_client_is_told_what_to_push_how_and_how_often() -> None:
    telemetry, clock = Telemetry(max_bytes=4096), ManualClock()
    telemetry.configs.set("s", {"metrics": "b.,a.", "interval.ms": "60000"})
    response = ask(telemetry, clock)
    assert response.error_code == 0
    assert response.client_instance_id == ID
    assert response.requested_metrics == ["a.", "b."]
    assert response.accepted_compression_types == [4, 3, 1, 2]
    assert (response.push_interval_ms, response.telemetry_max_bytes) == (60000, 4096)
    assert response.delta_temporality


def test_a_client_that_nobody_wants_to_hear_asks_again_after_five_minutes() -> None:
    response = ask(Telemetry(), ManualClock(), bytes(16))
    assert any(response.client_instance_id)
    assert (response.requested_metrics, response.push_interval_ms) == ([], 300000)


def test_who_asks_too_soon_gets_the_code_and_nothing_else() -> None:
    telemetry, clock = Telemetry(), ManualClock()
    ask(telemetry, clock)
    with pytest.raises(KafkaError) as refused:
        ask(telemetry, clock)
    assert refused.value.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    clock.advance(300_000)
    assert ask(telemetry, clock).error_code == 0
