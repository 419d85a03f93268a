"""Transactional batches whose transaction is being asked about: proof that the answer still holds.

A batch that opens a transaction on a partition is appended only after the coordinator said that
the transaction includes the partition (KIP-890). Between question and answer the transaction may
end, and another begin: so the question leaves a `Verification` here, the append has to present
that very object, and the first transactional batch or marker appended throws it away.

```text
no open transaction of the epoch ── start ──> Verification ── append, or a marker ──> none
transaction open                 ── start ──> None: nothing to ask, nothing to present
```
Source: VerificationStateEntry.java, UnifiedLog.maybeStartTransactionVerification (4.3).
"""

from typing import NamedTuple


class Verification:
    """One question under way. Told from another of the same producer by being another object.

    `lowest_sequence` is the lowest that a batch of the epoch had, so that no later batch overtakes
    the first; `supports_epoch_bump` = asked by a producer of transactions v2.
    """

    __slots__ = ("lowest_sequence", "producer_epoch", "started_ms", "supports_epoch_bump")

    def __init__(
        self,
        lowest_sequence: int,
        producer_epoch: int,
        supports_epoch_bump: bool,
        started_ms: int = 0,
    ) -> None:
        self.lowest_sequence = lowest_sequence
        self.producer_epoch = producer_epoch
        self.supports_epoch_bump = supports_epoch_bump
        self.started_ms = started_ms

    def __repr__(self) -> str:
        return (
            f"Verification(epoch {self.producer_epoch}, sequences from {self.lowest_sequence}, "
            f"since {self.started_ms})"
        )

    def also(self, sequence: int, producer_epoch: int) -> None:
        """Another batch of the producer waits for the same answer."""
        if producer_epoch > self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.lowest_sequence = sequence
        elif producer_epoch == self.producer_epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class TransactionTerms(NamedTuple):
    """What comes with a transactional append beside its bytes.

    `verification` is what was asked about the batch, if anything was; `transaction_version` that
    of the client, or of the coordinator that writes a marker.
    """

    verification: Verification | None = None
    transaction_version: int = 0


NO_TERMS = TransactionTerms()


class Verifications:
    """The questions under way in one log, one a producer."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        """None."""
        self._by_producer: dict[int, Verification] = {}

    def __len__(self) -> int:
        return len(self._by_producer)

    def start(self, producer_id: int, asked: Verification) -> Verification:
        """What the append has to present: `asked`, or what the producer's last batch began."""
        known = self._by_producer.setdefault(producer_id, asked)
        known.also(asked.lowest_sequence, asked.producer_epoch)
        return known

    def get(self, producer_id: int) -> Verification | None:
        """The question under way about a producer."""
        return self._by_producer.get(producer_id)

    def end(self, producer_id: int) -> None:
        """The transaction's first batch, or a marker, is in the log."""
        if self._by_producer:
            self._by_producer.pop(producer_id, None)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget the questions that were never answered."""
        if self._by_producer:
            self._by_producer = {
                producer_id: one
                for producer_id, one in self._by_producer.items()
                if now_ms - one.started_ms < expiration_ms
            }
