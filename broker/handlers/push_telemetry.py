"""PushTelemetry (72): take what a client tells of itself, and show it to Prometheus.

Checked and refused at once; what is admitted is read in turns with everybody else's requests.
Source: KIP-714; `ClientMetricsManager` of Kafka 4.3.
"""

from collections.abc import Awaitable

from broker.context import RequestContext
from broker.telemetry.clients import Client, ClientTelemetry
from broker.telemetry.export import Exporter
from protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from runtime.clock import Clock


def handle_push_telemetry(
    context: RequestContext,
    request: PushTelemetryRequest,
    *,
    telemetry: ClientTelemetry,
    exporter: Exporter,
    clock: Clock,
) -> PushTelemetryResponse | Awaitable[PushTelemetryResponse]:
    """Take the metrics, if this client may push them now; no metrics are fine."""
    now_ms = int(clock.monotonic() * 1000)
    client = telemetry.admit(request, context, now_ms)
    if not request.metrics:
        return PushTelemetryResponse()
    return _exported(exporter, client, request, now_ms)


async def _exported(
    exporter: Exporter, client: Client, request: PushTelemetryRequest, now_ms: int
) -> PushTelemetryResponse:
    await exporter.export(client, request.compression_type, request.metrics, now_ms)
    return PushTelemetryResponse()
