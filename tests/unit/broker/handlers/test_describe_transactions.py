from broker.handlers.describe_transactions import handle_describe_transactions
from protocol.errors import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from tests.support.replicas import Delivery, context_of
from tests.support.transactions import TIMEOUT_MS, TransactionBroker


def describe(one: TransactionBroker, *ids: str) -> list[TransactionState]:
    result = handle_describe_transactions(
        context_of(0),
        DescribeTransactionsRequest(transactional_ids=list(ids)),
        transactions=one.coordinator,
    )
    return Delivery(result, DescribeTransactionsResponse).reply.transaction_states


def test_each_id_has_its_state_or_its_code() -> None:
    one = TransactionBroker()
    one.add(one.begin("open"), ("t", 2), ("t", 0))
    one.start("idle")
    opened, idle, unknown, empty = describe(one, "open", "idle", "who", "")
    assert (opened.transaction_state, opened.producer_id) == ("Ongoing", 1000)
    assert opened.transaction_start_time_ms == one.broker.clock.now_ms()
    assert opened.transaction_timeout_ms == TIMEOUT_MS
    assert [(each.topic, each.partitions) for each in opened.topics] == [("t", [0, 2])]
    assert (idle.transaction_state, idle.transaction_start_time_ms) == ("Empty", -1)
    assert idle.topics == []
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert empty.error_code == ErrorCode.INVALID_REQUEST


def test_no_ids_are_answered_with_none() -> None:
    assert describe(TransactionBroker()) == []
