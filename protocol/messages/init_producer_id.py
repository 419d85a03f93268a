"""InitProducerId (22): a producer id for an idempotent or transactional producer (KIP-98).

v1 the answer comes before the client is throttled, v2 flexible, v3 the id and epoch a producer
wants to go on with (KIP-360), v4 PRODUCER_FENCED (KIP-588), v5 TRANSACTION_ABORTABLE (KIP-890).
v6, two-phase commit (KIP-939), is unstable in Kafka 4.3 and not served.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import int16, int32, int64, string
from protocol.schema.message import Failure, Request, Response


class InitProducerIdRequest(
    Request, api_key=ApiKey.INIT_PRODUCER_ID, versions="0-5", flexible="2+"
):
    """Who asks: a null transactional id is a producer that is only idempotent."""

    transactional_id: str | None = string(nullable="0+")
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)

    def refusal(self, failure: Failure) -> "InitProducerIdResponse":
        """The code at the top; no id."""
        return InitProducerIdResponse(error_code=failure.code)


class InitProducerIdResponse(
    Response, api_key=ApiKey.INIT_PRODUCER_ID, versions="0-5", flexible="2+"
):
    """The id and epoch to produce with; -1 both with an error."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16(default=-1)
