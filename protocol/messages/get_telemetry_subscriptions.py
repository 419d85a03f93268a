"""GetTelemetrySubscriptions (71): which of its metrics a client is asked to push (KIP-714).

Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int8, int16, int32, string, uuid
from protocol.schema.message import Failure, Request, Response


class GetTelemetrySubscriptionsRequest(
    Request, api_key=ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions="0", flexible="0+"
):
    """The client's instance id; zero asks for one."""

    client_instance_id: bytes = uuid()

    def refusal(self, failure: Failure) -> "GetTelemetrySubscriptionsResponse":
        """The code at the top; nothing is asked for."""
        return GetTelemetrySubscriptionsResponse(error_code=failure.code)


class GetTelemetrySubscriptionsResponse(
    Response, api_key=ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, versions="0", flexible="0+"
):
    """Prefixes of the metrics to push, none for no metrics, "" for all; how often and how large.

    Compression types are those of record batches. Delta temporality asks for what came since the
    last push, in place of sums.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    accepted_compression_types: list[int] = array(int8)
    push_interval_ms: int = int32()
    telemetry_max_bytes: int = int32()
    delta_temporality: bool = boolean()
    requested_metrics: list[str] = array(string)
