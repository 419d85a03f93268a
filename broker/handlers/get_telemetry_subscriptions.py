"""GetTelemetrySubscriptions (71): tell a client which of its metrics to push, and how often.

A client without a name is given one. Codecs are told best first. Who asks before its time gets
nothing but the code. Source: KIP-714; `ClientMetricsManager` of Kafka 4.3.
"""

from typing import Final

from broker.context import RequestContext
from broker.telemetry.clients import ClientTelemetry
from protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from protocol.records.compression import Codec
from runtime.clock import Clock

ACCEPTED_CODECS: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)


def handle_get_telemetry_subscriptions(
    context: RequestContext,
    request: GetTelemetrySubscriptionsRequest,
    *,
    telemetry: ClientTelemetry,
    clock: Clock,
) -> GetTelemetrySubscriptionsResponse:
    """What the subscriptions of now ask of this client."""
    now_ms = int(clock.monotonic() * 1000)
    client = telemetry.subscribe(request.client_instance_id, context, now_ms)
    asked = client.asked
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client.instance_id,
        subscription_id=asked.subscription_id,
        accepted_compression_types=list(map(int, ACCEPTED_CODECS)),
        push_interval_ms=asked.interval_ms,
        telemetry_max_bytes=telemetry.max_bytes(),
        delta_temporality=True,
        requested_metrics=list(asked.metrics),
    )
