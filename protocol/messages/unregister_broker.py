"""UnregisterBroker (64): forget a broker that will not come back (KIP-500).

Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import int16, int32, string
from protocol.schema.message import Failure, Request, Response


class UnregisterBrokerRequest(
    Request, api_key=ApiKey.UNREGISTER_BROKER, versions="0", flexible="0+"
):
    """Which broker."""

    broker_id: int = int32()

    def refusal(self, failure: Failure) -> "UnregisterBrokerResponse":
        """The code, and a message in any case, at the top."""
        return UnregisterBrokerResponse(error_code=failure.code, error_message=failure.text)


class UnregisterBrokerResponse(
    Response, api_key=ApiKey.UNREGISTER_BROKER, versions="0", flexible="0+"
):
    """What became of it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
