"""DescribeTransactions (65): the state of transactional ids (KIP-664).

Flexible from v0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class DescribeTransactionsRequest(
    Request, api_key=ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+"
):
    """Which transactional ids to look at."""

    transactional_ids: list[str] = array(string)

    def refusal(self, failure: Failure) -> "DescribeTransactionsResponse":
        """The code for each id."""
        return DescribeTransactionsResponse(
            transaction_states=[
                TransactionState(error_code=failure.code, transactional_id=transactional_id)
                for transactional_id in self.transactional_ids
            ]
        )


class TopicData(Message):
    """Partitions of one topic that are part of the transaction."""

    topic: str = string()
    partitions: list[int] = array(int32)


class TransactionState(Message):
    """One id; the start time is -1 outside of transactions."""

    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TopicData] = array(TopicData)


class DescribeTransactionsResponse(
    Response, api_key=ApiKey.DESCRIBE_TRANSACTIONS, versions="0", flexible="0+"
):
    """Each id asked for."""

    throttle_time_ms: int = int32()
    transaction_states: list[TransactionState] = array(TransactionState)
