"""AddOffsetsToTxn (25): a group's offsets join a transaction before they are committed (KIP-98).

v1 the answer comes before the client is throttled, v2 PRODUCER_FENCED (KIP-588), v3 flexible, v4
TRANSACTION_ABORTABLE (KIP-890).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import int16, int32, int64, string
from protocol.schema.message import Failure, Request, Response


class AddOffsetsToTxnRequest(
    Request, api_key=ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+"
):
    """The transaction, and the group whose partition of `__consumer_offsets` joins it."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()

    def refusal(self, failure: Failure) -> "AddOffsetsToTxnResponse":
        """The code at the top."""
        return AddOffsetsToTxnResponse(error_code=failure.code)


class AddOffsetsToTxnResponse(
    Response, api_key=ApiKey.ADD_OFFSETS_TO_TXN, versions="0-4", flexible="3+"
):
    """Whether the group's offsets may be committed with it."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
