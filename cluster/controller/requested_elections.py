"""Elections that a client asks for: of the preferred leader, or of any where there is none.

All that change go in one commit and are announced together. With one broker there is nearly always
nothing to elect: it leads what it has, and what its failed log directory had nobody else has.
Source: KIP-183, KIP-460; `ReplicationControlManager.electLeader` of Kafka 4.3.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cluster.controller.election import elect_offline, elect_preferred
from cluster.controller.messages import NO_LEADER
from cluster.controller.term import Term
from cluster.controller.turns import next_turn
from cluster.znodes import PartitionState
from protocol.errors import ErrorCode, KafkaError
from protocol.model import TopicPartition

Results = dict[TopicPartition, ErrorCode | KafkaError]
"""NONE for the elected; an error with a message where the code's own text does not do."""
PARTITIONS_PER_TURN: Final = 1000


class Elections:
    """One request's elections, held under one term."""

    def __init__(self, term: Term, *, unclean: bool) -> None:
        self._term = term
        self._unclean = unclean

    async def hold(self, partitions: Sequence[TopicPartition] | None) -> Results:
        """Elect what is asked for, or (None) all that needs it, and tell who leads now."""
        wanted = self._all() if partitions is None else iter(partitions)
        results: Results = {}
        elected: dict[TopicPartition, PartitionState] = {}
        for count, tp in enumerate(wanted, 1):
            if count % PARTITIONS_PER_TURN == 0:
                await next_turn()
            outcome = self._elect(tp)
            if isinstance(outcome, PartitionState):
                elected[tp] = outcome
                results[tp] = ErrorCode.NONE
            elif partitions is not None or outcome != ErrorCode.ELECTION_NOT_NEEDED:
                results[tp] = outcome
        if elected:
            await self._term.write_changed(elected)
            await self._term.announce(list(elected), is_new=False)
        return results

    def _all(self) -> Iterator[TopicPartition]:
        return iter(list(self._term.context.served()))

    def _elect(self, tp: TopicPartition) -> PartitionState | ErrorCode | KafkaError:
        """The new leadership, or why there is none."""
        context = self._term.context
        record = None if tp.topic in context.deleting else context.topics.get(tp.topic)
        if record is None:
            return _unknown(f"No such topic as {tp.topic}")
        replicas = record.replicas.get(tp.partition)
        if replicas is None:
            return _unknown(f"No such partition as {tp}")
        state = record.states.get(tp.partition)
        leader = NO_LEADER if state is None else state.leader
        if leader == replicas[0] or (self._unclean and leader != NO_LEADER):
            return ErrorCode.ELECTION_NOT_NEEDED
        live, epoch = context.live_for(tp), self._term.epoch
        elected = None
        if state is not None and self._unclean:
            elected = elect_offline(state, replicas, live, epoch, unclean=True)
        elif state is not None:
            elected = elect_preferred(state, replicas, live, epoch)
        if elected is not None:
            return elected
        if self._unclean:
            return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def _unknown(message: str) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
