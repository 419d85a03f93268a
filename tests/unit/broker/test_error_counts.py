"""Every error code of a response is counted, NONE included, wherever it is declared."""

from collections import defaultdict

from broker.error_counts import error_counter
from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.schema.fields import array, int16, int32, struct
from protocol.schema.message import Message


class Inner(Message):
    error_code: int = int16()


class Outer(Message, versions="0", flexible="none"):
    error_code: int = int16()
    single: Inner | None = struct(Inner, nullable="0+")
    many: list[Inner] = array(Inner)
    numbers: list[int] = array(int32)


class NoCodes(Message, versions="0", flexible="none"):
    number: int = int32()


def counts(message: Message) -> dict[int, int]:
    errors: dict[int, int] = defaultdict(int)
    error_counter(type(message))(message, errors)
    return dict(errors)


def test_a_code_at_the_top() -> None:
    assert counts(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)) == {35: 1}


def test_codes_of_every_partition() -> None:
    partitions = [
        PartitionProduceResponse(index=0),
        PartitionProduceResponse(index=1, current_leader=LeaderIdAndEpoch()),
        PartitionProduceResponse(index=2, error_code=ErrorCode.MESSAGE_TOO_LARGE),
    ]
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(name="one", partition_responses=partitions),
            TopicProduceResponse(name="two"),
        ]
    )
    assert counts(response) == {0: 2, 10: 1}


def test_codes_of_partitions_that_are_called_so() -> None:
    codes = (ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED)
    results = [AddPartitionsToTxnPartitionResult(partition_error_code=code) for code in codes]
    topic = AddPartitionsToTxnTopicResult(results_by_partition=results)
    assert counts(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic])) == {
        0: 2,
        55: 1,
    }


def test_codes_at_the_top_in_structs_and_in_lists_add_up() -> None:
    assert counts(Outer(error_code=1, single=Inner(error_code=2), many=[Inner(), Inner()])) == {
        1: 1,
        2: 1,
        0: 2,
    }
    assert counts(Outer()) == {0: 1}


def test_a_message_without_codes_counts_nothing() -> None:
    assert counts(NoCodes()) == {}
