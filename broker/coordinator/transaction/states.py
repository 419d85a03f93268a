"""The states of a transactional id and the transitions between them: the whole table.

```text
                 ┌────────────────────── InitProducerId ──────────────────────┐
                 v                                                            │
    (new) ──> EMPTY ── partitions join ──> ONGOING ── commit ──> PREPARE_COMMIT ──> COMPLETE_COMMIT
                │                             │                                       │
                │                             └── abort, fence, timeout ──┐           │
                │                                                         v           │
                └──────── abort of nothing (v2 only) ──────────> PREPARE_ABORT ──> COMPLETE_ABORT
```
A prepared transaction is decided: from then on only its markers, and then its completion, follow,
whatever happens to clients and brokers. Any complete state begins a transaction again, or becomes
empty by InitProducerId. Kafka's PREPARE_EPOCH_FENCE lives only between a decision to fence and its
write; here both are one step. DEAD, between expiry and its tombstone, likewise.
Source: TransactionState.java (4.3), KIP-98, KIP-890.
"""

from collections.abc import Mapping
from typing import Final

from protocol.internal.transaction_state import TransactionStatus

EMPTY: Final = TransactionStatus.EMPTY
ONGOING: Final = TransactionStatus.ONGOING
PREPARE_COMMIT: Final = TransactionStatus.PREPARE_COMMIT
PREPARE_ABORT: Final = TransactionStatus.PREPARE_ABORT
COMPLETE_COMMIT: Final = TransactionStatus.COMPLETE_COMMIT
COMPLETE_ABORT: Final = TransactionStatus.COMPLETE_ABORT

COMES_FROM: Final[Mapping[TransactionStatus, frozenset[TransactionStatus]]] = {
    EMPTY: frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT}),
    ONGOING: frozenset({ONGOING, EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT}),
    PREPARE_COMMIT: frozenset({ONGOING}),
    PREPARE_ABORT: frozenset({ONGOING, EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT}),
    COMPLETE_COMMIT: frozenset({PREPARE_COMMIT}),
    COMPLETE_ABORT: frozenset({PREPARE_ABORT}),
}
"""Each state and those it may follow; an id's first is EMPTY."""

PREPARED: Final = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
"""Decided, with markers under way: everything but the completion has to wait."""
COMPLETE: Final = frozenset({COMPLETE_COMMIT, COMPLETE_ABORT})
IDLE: Final = COMPLETE | {EMPTY}
"""No transaction: a new one may begin, and an id long unused may be forgotten."""

NAMES: Final[Mapping[TransactionStatus, str]] = {
    status: "".join(word.capitalize() for word in status.name.split("_"))
    for status in TransactionStatus
}
"""As clients are told them: PrepareCommit."""
