"""ListTransactions (66): the transactional ids this broker coordinates (KIP-664).

While a partition of them loads there is no answer but COORDINATOR_LOAD_IN_PROGRESS. v1 only those
that run for longer than some time (an idle id counts as running since before time, as in Kafka), v2
only those whose whole id matches an RE2 pattern; INVALID_REGULAR_EXPRESSION for none.
"""

from collections.abc import Iterable
from typing import Final

from broker.context import Reply, RequestContext
from broker.coordinator.group.regex_subscriptions import TopicPattern
from broker.coordinator.group.regex_syntax import InvalidPattern
from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.metadata import Transaction
from broker.coordinator.transaction.states import NAMES
from broker.turns import PARTITIONS_PER_TURN, NextTurn, sliced
from protocol.errors import ErrorCode
from protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from runtime.clock import Clock

_STATES: Final = frozenset(NAMES.values())


async def handle_list_transactions(
    _: RequestContext,
    request: ListTransactionsRequest,
    *,
    transactions: TransactionCoordinator,
    clock: Clock,
) -> Reply:
    """List what passes all filters, a slice at a time."""
    if transactions.is_loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    try:
        wanted = _Filters(request, clock.now_ms())
    except InvalidPattern:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    response = ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in _STATES]
    )
    for some in sliced(list(transactions.transactions()), PARTITIONS_PER_TURN):
        response.transaction_states += _listed(some, wanted)
        await NextTurn()
    return response


def _listed(some: Iterable[Transaction], wanted: "_Filters") -> list[TransactionState]:
    return [
        TransactionState(
            transactional_id=one.transactional_id,
            producer_id=one.producer_id,
            transaction_state=NAMES[one.state],
        )
        for one in some
        if wanted.passes(one)
    ]


class _Filters:
    """What a listed id has to be; InvalidPattern for a pattern that is none."""

    def __init__(self, request: ListTransactionsRequest, now_ms: int) -> None:
        self._states = frozenset(request.state_filters)
        self._producer_ids = frozenset(request.producer_id_filters)
        self._started_before_ms = (
            None if request.duration_filter < 0 else now_ms - request.duration_filter
        )
        pattern = request.transactional_id_pattern
        self._pattern = TopicPattern(pattern) if pattern else None

    def passes(self, one: Transaction) -> bool:
        if self._states and NAMES[one.state] not in self._states:
            return False
        if self._producer_ids and one.producer_id not in self._producer_ids:
            return False
        if self._started_before_ms is not None and one.started_ms >= self._started_before_ms:
            return False
        return self._pattern is None or self._pattern.matches(one.transactional_id)
