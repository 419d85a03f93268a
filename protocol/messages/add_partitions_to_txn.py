"""AddPartitionsToTxn (24): partitions join a transaction before they are written to (KIP-98).

v1 the answer comes before the client is throttled, v2 PRODUCER_FENCED (KIP-588), v3 flexible, v4
many transactions at once, and the question whether partitions have joined already; v5
TRANSACTION_ABORTABLE (KIP-890). Clients send v0-3 only, brokers v4 and later.

One transaction and many are the same thing said twice: `wanted_transactions` and
`AddPartitionsToTxnResponse.telling` turn v0-3 into lists of one.
"""

from collections.abc import Sequence
from typing import Final

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response

FIRST_VERSION_OF_BROKERS: Final = 4


class AddPartitionsToTxnTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[int] = array(int32)


class AddPartitionsToTxnTransaction(Message):
    """Partitions that join a transaction, or of which it is only asked whether they have."""

    transactional_id: str = string("4+")
    producer_id: int = int64("4+")
    producer_epoch: int = int16("4+")
    verify_only: bool = boolean("4+")
    topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic, "4+")


class AddPartitionsToTxnRequest(
    Request, api_key=ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+"
):
    """The transactions of brokers, or the one of a client."""

    transactions: list[AddPartitionsToTxnTransaction] = array(
        AddPartitionsToTxnTransaction, "4+", ignorable=False
    )
    v3_and_below_transactional_id: str = string("0-3", ignorable=False)
    v3_and_below_producer_id: int = int64("0-3", ignorable=False)
    v3_and_below_producer_epoch: int = int16("0-3", ignorable=False)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array(
        AddPartitionsToTxnTopic, "0-3", ignorable=False
    )

    def wanted_transactions(self, version: int) -> list[AddPartitionsToTxnTransaction]:
        """The transactions, whichever way `version` names them."""
        if version >= FIRST_VERSION_OF_BROKERS:
            return self.transactions
        return [
            AddPartitionsToTxnTransaction(
                transactional_id=self.v3_and_below_transactional_id,
                producer_id=self.v3_and_below_producer_id,
                producer_epoch=self.v3_and_below_producer_epoch,
                topics=self.v3_and_below_topics,
            )
        ]

    def refusal(self, failure: Failure) -> "AddPartitionsToTxnResponse":
        """The code at the top from v4; before, for each partition."""
        if failure.version >= FIRST_VERSION_OF_BROKERS:
            return AddPartitionsToTxnResponse(error_code=failure.code)
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(
                            partition_index=index, partition_error_code=failure.code
                        )
                        for index in topic.partitions
                    ],
                )
                for topic in self.v3_and_below_topics
            ]
        )


class AddPartitionsToTxnPartitionResult(Message):
    """What became of one partition."""

    partition_index: int = int32()
    partition_error_code: int = int16()


class AddPartitionsToTxnTopicResult(Message):
    """The partitions of one topic."""

    name: str = string()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array(
        AddPartitionsToTxnPartitionResult
    )


class AddPartitionsToTxnResult(Message):
    """The partitions of one transaction."""

    transactional_id: str = string("4+")
    topic_results: list[AddPartitionsToTxnTopicResult] = array(AddPartitionsToTxnTopicResult, "4+")


class AddPartitionsToTxnResponse(
    Response, api_key=ApiKey.ADD_PARTITIONS_TO_TXN, versions="0-5", flexible="3+"
):
    """What became of each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16("4+")
    results_by_transaction: list[AddPartitionsToTxnResult] = array(
        AddPartitionsToTxnResult, "4+", ignorable=False
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array(
        AddPartitionsToTxnTopicResult, "0-3", ignorable=False
    )

    @classmethod
    def telling(
        cls, version: int, results: Sequence[AddPartitionsToTxnResult]
    ) -> "AddPartitionsToTxnResponse":
        """The answer for these transactions; exactly one of them below v4."""
        if version >= FIRST_VERSION_OF_BROKERS:
            return cls(results_by_transaction=list(results))
        (result,) = results
        return cls(results_by_topic_v3_and_below=result.topic_results)
