"""ListTransactions (66): the transactional ids this broker coordinates (KIP-664).

v1 only those that run longer than some time (KIP-994), v2 only those whose id matches a pattern
(KIP-1152). Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class ListTransactionsRequest(
    Request, api_key=ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+"
):
    """What is of interest; no filter, a negative duration (ms) and a null pattern let all pass."""

    state_filters: list[str] = array(string)
    producer_id_filters: list[int] = array(int64)
    duration_filter: int = int64("1+", default=-1, ignorable=False)
    transactional_id_pattern: str | None = string(
        "2+", nullable="2+", default=None, ignorable=False
    )

    def refusal(self, failure: Failure) -> "ListTransactionsResponse":
        """The code at the top; no ids."""
        return ListTransactionsResponse(error_code=failure.code)


class TransactionState(Message):
    """One transactional id."""

    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


class ListTransactionsResponse(
    Response, api_key=ApiKey.LIST_TRANSACTIONS, versions="0-2", flexible="0+"
):
    """The ids, and the states asked for that there are none of that name."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array(string)
    transaction_states: list[TransactionState] = array(TransactionState)
