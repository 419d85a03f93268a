from typing import Any

import pytest

from broker.handlers.list_transactions import handle_list_transactions
from protocol.errors import ErrorCode
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tests.support.replicas import context_of
from tests.support.transactions import TransactionBroker


@pytest.fixture
def one() -> TransactionBroker:
    """An open transaction that began at 100, an idle id, a committed transaction."""
    made = TransactionBroker()
    made.add(made.begin("open"), ("t", 0))
    made.start("idle")
    producer = made.begin("done")
    made.add(producer, ("t", 0))
    made.end(producer, commit=True)
    made.broker.clock.advance(100)
    return made


async def listed(one: TransactionBroker, **fields: Any) -> ListTransactionsResponse:
    reply = await handle_list_transactions(
        context_of(2),
        ListTransactionsRequest(**fields),
        transactions=one.coordinator,
        clock=one.broker.clock,
    )
    assert isinstance(reply, ListTransactionsResponse)
    return reply


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({}, {"open", "idle", "done"}),
        ({"state_filters": ["Ongoing", "Empty"]}, {"open", "idle"}),
        ({"state_filters": ["ongoing"]}, set()),
        ({"producer_id_filters": [1001, 5]}, {"idle"}),
        ({"duration_filter": 99}, {"open", "idle", "done"}),
        ({"duration_filter": 100}, {"idle"}),
        ({"transactional_id_pattern": "o.*|done"}, {"open", "done"}),
        ({"transactional_id_pattern": "o"}, set()),
        ({"transactional_id_pattern": ""}, {"open", "idle", "done"}),
    ],
)
async def test_filters_let_pass(
    one: TransactionBroker, fields: dict[str, Any], ids: set[str]
) -> None:
    reply = await listed(one, **fields)
    assert {each.transactional_id for each in reply.transaction_states} == ids


async def test_states_that_are_none_are_told(one: TransactionBroker) -> None:
    reply = await listed(one, state_filters=["ongoing", "Dead"])
    assert reply.unknown_state_filters == ["ongoing"]
    assert reply.transaction_states == []


async def test_a_pattern_that_is_none_is_refused(one: TransactionBroker) -> None:
    reply = await listed(one, transactional_id_pattern="(")
    assert reply.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
