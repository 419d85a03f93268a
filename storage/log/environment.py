"""What all logs of a broker share, and what identifies one of them."""

from collections.abc import Callable
from typing import NamedTuple

from protocol.model import TopicPartition
from storage.segment.file_records import FilePool


class LogIdentity(NamedTuple):
    """Which log, and where. `topic_id` is 16 bytes, zeros for a topic without one."""

    topic_partition: TopicPartition
    topic_id: bytes
    directory: str
    log_dir: str


class LogEnvironment(NamedTuple):
    """The outside world as logs see it.

    `random_below(n)` answers from [0, n); `unique()` makes 32 hex digits that were never used;
    `producer_id_expiration_ms()` is live, and so is `verifies_transactions()`: whether a batch may
    open a transaction only after the coordinator was asked.
    """

    pool: FilePool
    random_below: Callable[[int], int]
    unique: Callable[[], str]
    producer_id_expiration_ms: Callable[[], int]
    verifies_transactions: Callable[[], bool] = lambda: False
