"""Has decided transactions end: a marker to each partition, then the completion; never lost.

    decided ──> marker to every partition ──> all written ──> complete
                     └── refused: again after a pause         └── refused: again after a pause

What is in process of ending is memory only: the record of the decision is what brings it back. A
partition that no longer exists is left out; a log that knows a later epoch of the producer or of
the coordinator ends the attempt, for then somebody else decides about the producer. Until `open`
nothing is sent: while topics are still being made known, one could seem deleted that is not.
Source: TransactionMarkerChannelManager.scala, TransactionMarkerRequestCompletionHandler.scala.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from broker.coordinator.shard import Outcome, Waiter, Writer
from broker.coordinator.transaction.marker_writing import Marker, MarkerWriter
from broker.coordinator.transaction.metadata import Transaction
from broker.coordinator.transaction.shard import TransactionShard
from broker.coordinator.transaction.states import PREPARE_COMMIT
from broker.replication.purgatory import Cancellable
from protocol.errors import ErrorCode
from protocol.model import TopicPartition
from protocol.records.control import EndTransactionMarker

_logger = logging.getLogger(__name__)

MARKERS_A_TURN: Final = 64
"""Some 2 ms of appending; then others have their turn."""
PAUSE_MS: Final = 100
"""Before what was refused is tried again."""
_SOMEBODY_ELSES: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)

Command = Callable[[TransactionShard, int], Outcome]
Submit = Callable[[int, Command, Waiter], None]


class MarkerSender:
    """Ends transactions. `submit(index, command, waiter)` asks the shard of a partition;
    `defer` and `after` are those of `RuntimeEnvironment`.
    """

    def __init__(
        self,
        writer: MarkerWriter,
        submit: Submit,
        defer: Callable[[Callable[[], None]], object],
        after: Callable[[int, Callable[[], None]], Cancellable],
    ) -> None:
        self._writer = writer
        self._submit = submit
        self._defer = defer
        self.after = after
        self._queue: deque[_Ending] = deque()
        self._left = 0
        self._is_working = False

    def open(self) -> None:
        """All topics are known: send what there is."""
        self._next_turn()

    def begin(self, shard: TransactionShard, transaction: Transaction) -> None:
        """Send the markers of a transaction, at once where there are not too many."""
        self.enqueue(_Ending(self, shard, transaction))

    def look_again(self, shard: TransactionShard, transactional_id: str) -> None:
        """Ask after a pause whether the decision is safe, and then send."""
        self.after(PAUSE_MS, lambda: self._look(_Looking(self, shard, transactional_id)))

    def _look(self, looking: "_Looking") -> None:
        shard = looking.shard
        if not shard.is_unloaded:
            transactional_id = looking.transactional_id
            self._submit(
                shard.index, lambda asked, _: asked.decided(transactional_id, looking), looking
            )

    def enqueue(self, ending: "_Ending") -> None:
        """Let an ending go on: it has markers to send, or none are left."""
        self._queue.append(ending)
        if not self._is_working:
            self._work()

    def complete(self, ending: "_Ending") -> None:
        """Have the completion written."""
        transaction = ending.transaction
        waiter = _Completing(self, ending)
        self._submit(
            ending.shard.index, lambda shard, now: shard.complete(transaction, waiter, now), waiter
        )

    def _next_turn(self) -> None:
        self._left = MARKERS_A_TURN
        if not self._is_working:
            self._work()

    def _work(self) -> None:
        """Send until the turn is used up; the one that is begun next is the first in line."""
        queue = self._queue
        self._is_working = True
        try:
            while queue and self._left:
                ending = queue[0]
                if ending.unsent and not ending.shard.is_unloaded:
                    self._left -= 1
                    partition = ending.unsent.pop()
                    sent = _Sent(ending, partition)
                    self._writer.write(partition, ending.marker, sent)
                    if not self._left:
                        self._defer(self._next_turn)
                else:
                    queue.popleft()
                    ending.all_sent()
        finally:
            self._is_working = False


class _Ending:
    """One transaction on its way from its decision to its completion."""

    __slots__ = (
        "_is_given_up",
        "_outstanding",
        "_refused",
        "_sender",
        "marker",
        "shard",
        "transaction",
        "unsent",
    )

    def __init__(
        self, sender: MarkerSender, shard: TransactionShard, transaction: Transaction
    ) -> None:
        self._sender = sender
        self.shard = shard
        self.transaction = transaction
        self.marker = Marker(
            Writer(transaction.producer_id, transaction.producer_epoch),
            EndTransactionMarker(transaction.state is PREPARE_COMMIT, shard.leader_epoch),
            transaction.client_version,
        )
        self.unsent = sorted(transaction.partitions, reverse=True)
        self._refused: list[TopicPartition] = []
        # One more than markers that are not answered, while some are not sent.
        self._outstanding = len(self.unsent) + 1
        self._is_given_up = False

    def all_sent(self) -> None:
        """What is left to come are answers."""
        self.answered()

    def answered(self) -> None:
        """One thing less to wait for."""
        self._outstanding -= 1
        if self._outstanding or self.shard.is_unloaded or self._is_given_up:
            return
        if self._refused:
            self._sender.after(PAUSE_MS, self._again)
        else:
            self._sender.complete(self)

    def refused(self, partition: TopicPartition, code: ErrorCode) -> None:
        """A marker was not written: once more later, unless there is nothing to be written."""
        if code in _SOMEBODY_ELSES:
            if not self._is_given_up:
                _logger.error(
                    "The end of the transaction of %s is left to its next coordinator: %s says %s",
                    self.transaction.transactional_id,
                    partition,
                    code.name,
                )
            self._is_given_up = True
        elif code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            if not self._refused:
                _logger.info(
                    "Marker of %s not yet written to %s: %s",
                    self.transaction.transactional_id,
                    partition,
                    code.name,
                )
            self._refused.append(partition)
        self.answered()

    def _again(self) -> None:
        self.unsent, self._refused = self._refused, []
        self._outstanding = len(self.unsent) + 1
        self._sender.enqueue(self)


class _Sent:
    """Waits for one marker."""

    __slots__ = ("_ending", "_partition")

    def __init__(self, ending: _Ending, partition: TopicPartition) -> None:
        self._ending = ending
        self._partition = partition

    def answer(self, _reply: object) -> None:
        self._ending.answered()

    def refuse(self, code: ErrorCode) -> None:
        self._ending.refused(self._partition, code)


class _Completing:
    """Waits for a completion, which is asked for until it is written."""

    __slots__ = ("_ending", "_sender")

    def __init__(self, sender: MarkerSender, ending: _Ending) -> None:
        self._sender = sender
        self._ending = ending

    def answer(self, _reply: object) -> None:
        """It is complete."""

    def refuse(self, _code: ErrorCode) -> None:
        self._sender.after(PAUSE_MS, self._again)

    def _again(self) -> None:
        if not self._ending.shard.is_unloaded:
            self._sender.complete(self._ending)


class _Looking:
    """Waits to hear that a decision is safe."""

    __slots__ = ("_sender", "shard", "transactional_id")

    def __init__(
        self, sender: MarkerSender, shard: TransactionShard, transactional_id: str
    ) -> None:
        self._sender = sender
        self.shard = shard
        self.transactional_id = transactional_id

    def answer(self, reply: object) -> None:
        if isinstance(reply, Transaction):
            self._sender.begin(self.shard, reply)

    def refuse(self, _code: ErrorCode) -> None:
        if not self.shard.is_unloaded:
            self._sender.look_again(self.shard, self.transactional_id)
