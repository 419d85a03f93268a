"""Who asks a transaction coordinator, and what it is told to produce as."""

from typing import NamedTuple


class Producer(NamedTuple):
    """A transactional id and what its producer believes to produce as."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class ProducerIdAndEpoch(NamedTuple):
    """What to produce as from now on."""

    producer_id: int
    producer_epoch: int
