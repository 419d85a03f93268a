"""EndTxn (26): commit or abort a transaction (KIP-98).

v1 the answer comes before the client is throttled, v2 PRODUCER_FENCED (KIP-588), v3 flexible, v4
TRANSACTION_ABORTABLE, v5 the answer tells with which epoch the next transaction begins, or with
which producer id once epochs are used up (KIP-890).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import boolean, int16, int32, int64, string
from protocol.schema.message import Failure, Request, Response


class EndTxnRequest(Request, api_key=ApiKey.END_TXN, versions="0-5", flexible="3+"):
    """Which transaction, and whether it is committed."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()

    def refusal(self, failure: Failure) -> "EndTxnResponse":
        """The code at the top; no id."""
        return EndTxnResponse(error_code=failure.code)


class EndTxnResponse(Response, api_key=ApiKey.END_TXN, versions="0-5", flexible="3+"):
    """Whether the end is decided; id and epoch are -1 with an error."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64("5+", default=-1)
    producer_epoch: int = int16("5+", default=-1)
