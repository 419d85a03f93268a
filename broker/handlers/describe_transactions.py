"""DescribeTransactions (65): the state of transactional ids (KIP-664).

Each id has its own code: INVALID_REQUEST for an empty one, TRANSACTIONAL_ID_NOT_FOUND,
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
"""

from collections.abc import Sequence

from broker.context import Parked, RequestContext
from broker.coordinator.parked_reply import Gathering, ParkedReply
from broker.coordinator.transaction.coordinator import TransactionCoordinator
from broker.coordinator.transaction.metadata import Transaction, by_topic
from broker.coordinator.transaction.states import NAMES
from protocol.errors import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from protocol.schema.message import Failure

Found = Transaction | ErrorCode


def handle_describe_transactions(
    context: RequestContext,
    request: DescribeTransactionsRequest,
    *,
    transactions: TransactionCoordinator,
) -> Parked:
    """Describe each id, in the order asked for."""
    ids = request.transactional_ids

    def described(found: Sequence[Found]) -> DescribeTransactionsResponse:
        states = [_state(one, of_it) for one, of_it in zip(ids, found, strict=True)]
        return DescribeTransactionsResponse(transaction_states=states)

    client: ParkedReply[Sequence[Found]] = ParkedReply(
        described, lambda code: request.refusal(Failure(context.api_version, code, None))
    )
    gathering: Gathering[Found] = Gathering(client, len(ids))
    for position, transactional_id in enumerate(ids):
        transactions.describe(transactional_id, gathering.part(position, ErrorCode))
    return client.parked


def _state(transactional_id: str, found: Found) -> TransactionState:
    if isinstance(found, ErrorCode):
        return TransactionState(transactional_id=transactional_id, error_code=found)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=NAMES[found.state],
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=[
            TopicData(topic=topic, partitions=indexes)
            for topic, indexes in by_topic(found.partitions)
        ],
    )
