"""PushTelemetry (72): a client's metrics, in OpenTelemetry's protobuf (KIP-714).

Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import boolean, bytes_, int8, int16, int32, uuid
from protocol.schema.message import Failure, Request, Response


class PushTelemetryRequest(Request, api_key=ApiKey.PUSH_TELEMETRY, versions="0", flexible="0+"):
    """Metrics, compressed as record batches may be, and whether they are the client's last."""

    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    terminating: bool = boolean()
    compression_type: int = int8()
    metrics: bytes = bytes_()

    def refusal(self, failure: Failure) -> "PushTelemetryResponse":
        """The code at the top."""
        return PushTelemetryResponse(error_code=failure.code)


class PushTelemetryResponse(Response, api_key=ApiKey.PUSH_TELEMETRY, versions="0", flexible="0+"):
    """Whether they were taken."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
