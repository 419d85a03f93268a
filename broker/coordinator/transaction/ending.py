"""What EndTxn comes to: decisions over values, for both transaction protocols.

```text
                    v1                                  v2: an end raises the epoch
another id          INVALID_PRODUCER_ID_MAPPING         … but for a retry over a change of ids
another epoch       PRODUCER_FENCED                     … but for a retry: one below the current
pending, prepared   CONCURRENT_TRANSACTIONS (last)      CONCURRENT_TRANSACTIONS (first)
ongoing             decide                              decide
complete, same end  answered again                      abort of nothing: decide; a retry: again
complete, other end INVALID_TXN_STATE                   abort of nothing: decide; else …STATE
empty               INVALID_TXN_STATE                   abort of nothing: decide; else …STATE
```
Source: TransactionCoordinator.endTransaction, endTransactionWithTV1, endTxnEpochBumped (4.3).
"""

from broker.coordinator.transaction.metadata import EXHAUSTED_EPOCH, TRANSACTIONS_V2, Transaction
from broker.coordinator.transaction.producer import Producer
from broker.coordinator.transaction.states import (
    COMPLETE,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    ONGOING,
)
from protocol.errors import ErrorCode, KafkaError


def end_of(
    before: Transaction, is_pending: bool, producer: Producer, commit: bool, client_version: int
) -> bool:
    """Whether to decide the transaction now; False: it was, to the same end, and is complete."""
    if client_version < TRANSACTIONS_V2:
        return _first_protocol(before, is_pending, producer, commit)
    if is_pending:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return _second_protocol(before, producer, commit)


def _first_protocol(
    before: Transaction, is_pending: bool, producer: Producer, commit: bool
) -> bool:
    if before.producer_id != producer.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if before.producer_epoch != producer.producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if is_pending:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if before.state is ONGOING:
        return True
    if before.state is not (COMPLETE_COMMIT if commit else COMPLETE_ABORT):
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    return False


def _second_protocol(before: Transaction, producer: Producer, commit: bool) -> bool:
    # The end that raised the epoch was itself of v2: else a producer fenced by one of v1 could pass
    # for its retry, and be told the epoch of the other.
    may_be_retry = before.state in COMPLETE and before.client_version >= TRANSACTIONS_V2
    over_rotation = (
        may_be_retry
        and before.previous_producer_id == producer.producer_id
        and before.producer_epoch == 0
        and producer.producer_epoch == EXHAUSTED_EPOCH
    )
    if before.producer_id != producer.producer_id and not over_rotation:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    is_retry = over_rotation or (
        may_be_retry and before.producer_epoch == producer.producer_epoch + 1
    )
    if not is_retry and before.producer_epoch != producer.producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if before.state is ONGOING:
        return True
    if is_retry and before.state is (COMPLETE_COMMIT if commit else COMPLETE_ABORT):
        return False
    if is_retry or commit:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    return True
