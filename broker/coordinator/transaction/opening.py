"""What InitProducerId comes to for an id without a transaction: decisions over values.

```text
claims nothing                        epoch + 1; another id, from epoch 0, where those are used up
claims the current epoch              the same: it goes on after an error (KIP-360)
claims the epoch before               the current one: it did not hear the answer
claims the id before, at its last     likewise, of a change of ids
nobody has an epoch yet               epoch 0, whatever is claimed
anything else                         PRODUCER_FENCED: somebody else produces under this id
```
Source: TransactionCoordinator.prepareInitProducerIdTransit,
TransactionMetadata.prepareIncrementProducerEpoch (4.3).
"""

from typing import NamedTuple

from broker.coordinator.transaction.metadata import Transaction, is_exhausted
from protocol.errors import ErrorCode, KafkaError
from protocol.model import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class Claim(NamedTuple):
    """A transactional id, and what a producer says it produced as under it; -1 both: nothing."""

    transactional_id: str
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_new(self) -> bool:
        """Whether the producer claims nothing."""
        return self.producer_id == NO_PRODUCER_ID


class Opening(NamedTuple):
    """What the producer gets: another id if `rotates`; the epoch that a retry may claim."""

    rotates: bool
    producer_epoch: int
    last_epoch: int


def check_claim(before: Transaction, claim: Claim) -> None:
    """PRODUCER_FENCED for a producer id that is not the current one, nor just was."""
    if claim.is_new or before.producer_epoch == NO_PRODUCER_EPOCH:
        return
    is_retry = claim.producer_id == before.previous_producer_id and is_exhausted(
        claim.producer_epoch
    )
    if claim.producer_id != before.producer_id and not is_retry:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)


def opening_of(before: Transaction, last_epoch: int, claim: Claim) -> Opening:
    """See the table; `last_epoch` is the one before the current, while it may be claimed."""
    epoch = before.producer_epoch
    if before.epoch_is_exhausted and (claim.is_new or claim.producer_epoch == epoch):
        return Opening(True, 0, NO_PRODUCER_EPOCH if claim.is_new else epoch)
    if claim.is_new:
        return Opening(False, epoch + 1, NO_PRODUCER_EPOCH)
    if epoch in (NO_PRODUCER_EPOCH, claim.producer_epoch):
        return Opening(False, epoch + 1, epoch)
    if claim.producer_epoch == last_epoch:
        return Opening(False, epoch, last_epoch)
    raise KafkaError(ErrorCode.PRODUCER_FENCED)
