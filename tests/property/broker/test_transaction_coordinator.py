"""Transactions against a small model, with crashes and partitions without a leader between steps.

The model: a value counts from the moment a commit was answered, and only then. Whatever happens,
readers of committed data see nothing else; when all partitions lead again, they see all of it.
"""

from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.coordinator.replay import Replay
from broker.coordinator.transaction.producer import Producer, ProducerIdAndEpoch
from broker.coordinator.transaction.shard import TransactionShard
from broker.coordinator.transaction.states import PREPARED
from broker.handlers.produce import handle_produce
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.model import TRANSACTION_STATE_TOPIC
from protocol.records.batch import iterate_batches
from protocol.records.control import parse_end_transaction_marker
from runtime.blocking import Workers
from storage.log.results import ReadBound
from tests.support.loops import closed_loop
from tests.support.replicas import Delivery, context_of, log_of, records_of
from tests.support.transactions import TIMEOUT_INTERVAL_MS, TIMEOUT_MS, TransactionBroker

IDS = ("a", "b")
PARTITIONS = range(3)
MOST_SESSIONS = 6
OVER = {
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}
NO_WORKERS = Workers(closed_loop(), 1)


class Session:
    """A producer as it sees itself."""

    def __init__(self, producer: Producer, version: int) -> None:
        self.producer = producer
        self.version = version
        self.sequences = dict.fromkeys(PARTITIONS, 0)
        self.values: list[bytes] = []
        self.is_fenced = False
        self.has_begun = False
        self.last_end: tuple[Producer, bool, object] | None = None

    @property
    def may_end_again(self) -> bool:
        """Whether the same request is a retry: later it would be about another transaction."""
        return self.last_end is not None and not self.has_begun and not self.is_fenced


class TransactionMachine(RuleBasedStateMachine):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.one = TransactionBroker()
        self.sessions: list[Session] = []
        self.committed: set[bytes] = set()
        self.count = 0

    # What clients do.

    @precondition(lambda self: len(self.sessions) < MOST_SESSIONS)
    @rule(transactional_id=st.sampled_from(IDS), version=st.sampled_from([0, 2]))
    def start(self, transactional_id: str, version: int) -> None:
        told = self.one.start(transactional_id)
        if told is ErrorCode.CONCURRENT_TRANSACTIONS:
            return
        for session in self.sessions:
            if session.producer.transactional_id == transactional_id:
                session.is_fenced = True
        assert isinstance(told, ProducerIdAndEpoch)
        self.sessions.append(Session(Producer(transactional_id, *told), version))

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), index=st.sampled_from(PARTITIONS))
    def produce(self, data: st.DataObject, index: int) -> None:
        session = data.draw(st.sampled_from(self._choice()))
        if session.version < 2:
            told = self.one.add(session.producer, ("t", index))
            if told is not None:
                self._check_refusal(session, told)
                return
            session.has_begun = True
        self.count += 1
        value = b"%d" % self.count
        code = self._produce(session, index, value)
        if code is ErrorCode.NONE:
            assert not session.is_fenced
            session.sequences[index] += 1
            session.values.append(value)
            session.has_begun = True
        else:
            self._check_refusal(session, code)

    def _choice(self) -> list[Session]:
        """Those that may produce, and one that may not."""
        fenced = [session for session in self.sessions if session.is_fenced]
        return [session for session in self.sessions if not session.is_fenced] + fenced[-1:]

    def _produce(self, session: Session, index: int, value: bytes) -> ErrorCode:
        batch = records_of(
            value,
            now_ms=self.one.broker.clock.now_ms(),
            producer_id=session.producer.producer_id,
            producer_epoch=session.producer.producer_epoch,
            base_sequence=session.sequences[index],
            is_transactional=True,
        )
        request = ProduceRequest(
            transactional_id=session.producer.transactional_id,
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name="t", partition_data=[PartitionProduceData(index=index, records=batch)]
                )
            ],
        )
        result: Any = handle_produce(
            context_of(12 if session.version == 2 else 9),
            request,
            replicas=self.one.broker.replicas,
            workers=NO_WORKERS,
            questions=self.one.questions,
        )
        if not isinstance(result, ProduceResponse):
            result.close()  # It asks again for a while: this client has lost its patience.
            return ErrorCode.CONCURRENT_TRANSACTIONS
        reply = Delivery(result, ProduceResponse).reply
        return ErrorCode(reply.responses[0].partition_responses[0].error_code)

    def _check_refusal(self, session: Session, told: object) -> None:
        if told in OVER:
            # By the second protocol an abort gives a producer back what the clock took from it.
            assert session.is_fenced or self._timed_out(session)
            session.is_fenced |= session.version < 2
        else:
            assert told in (
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                ErrorCode.NOT_ENOUGH_REPLICAS,
                ErrorCode.INVALID_TXN_STATE,
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            ), told

    def _timed_out(self, session: Session) -> bool:
        transaction = self.one.transaction(session.producer.transactional_id)
        return transaction.producer_epoch > session.producer.producer_epoch

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), commit=st.booleans())
    def end(self, data: st.DataObject, commit: bool) -> None:
        session = data.draw(st.sampled_from(self._choice()))
        asked = session.producer
        told = self.one.end(asked, commit=commit, version=session.version)
        if not isinstance(told, ProducerIdAndEpoch):
            self._check_refusal(session, told)
            return
        assert not session.is_fenced
        if commit:
            self.committed.update(session.values)
        session.values = []
        session.has_begun = False
        session.last_end = (asked, commit, told)
        if told != asked[1:]:
            session.producer = Producer(asked.transactional_id, *told)
            session.sequences = dict.fromkeys(PARTITIONS, 0)

    @precondition(lambda self: any(s.may_end_again for s in self.sessions))
    @rule(data=st.data())
    def end_again(self, data: st.DataObject) -> None:
        """The answer was lost on its way, and nothing was done since."""
        session = data.draw(st.sampled_from([s for s in self.sessions if s.may_end_again]))
        assert session.last_end is not None
        asked, commit, told = session.last_end
        before = [len(self.one.markers("t", index)) for index in PARTITIONS]
        again = self.one.end(asked, commit=commit, version=session.version)
        assert again == told or again is ErrorCode.CONCURRENT_TRANSACTIONS
        assert before == [len(self.one.markers("t", index)) for index in PARTITIONS]

    # What happens to brokers.

    @rule()
    def crash(self) -> None:
        self.one.crash()

    @rule(index=st.sampled_from(PARTITIONS), leads=st.booleans())
    def lead(self, index: int, leads: bool) -> None:
        self.one.broker.partition("t", index).is_leader = leads

    @rule(milliseconds=st.sampled_from([1, 100, TIMEOUT_INTERVAL_MS, TIMEOUT_MS + 1]))
    def wait(self, milliseconds: int) -> None:
        self.one.broker.advance(milliseconds)
        self.one.broker.turn()

    # What always holds.

    @invariant()
    def replay_tells_what_is_known(self) -> None:
        log = self.one.broker.log(TRANSACTION_STATE_TOPIC)
        live = self.one.shard
        replayed = TransactionShard(0, 0, live._settings, self.one.sender)
        replay = Replay(log, replayed)
        while (chunk := replay.next_slice()) is not None:
            data = chunk.read()
            chunk.release()
            for _ in replay.steps(data):
                pass
        assert replayed.transactions == live.transactions

    @invariant()
    def only_what_was_committed_is_read(self) -> None:
        assert self._read() <= self.committed

    def _read(self) -> set[bytes]:
        return {value for index in PARTITIONS for value in read_committed(self.one, index)}

    def teardown(self) -> None:
        """All lead again, the clock goes on: every end comes about, and nothing is missing."""
        for index in PARTITIONS:
            self.one.broker.partition("t", index).is_leader = True
        self.one.crash()
        for _ in range(2 + TIMEOUT_MS // TIMEOUT_INTERVAL_MS):
            self.one.broker.advance(TIMEOUT_INTERVAL_MS)
        states = {each.state for each in self.one.shard.transactions.values()}
        assert not states & PREPARED
        assert self._read() == self.committed


def read_committed(one: TransactionBroker, index: int) -> list[bytes]:
    """What a client shows its application: without what lies in aborted transactions."""
    log = log_of(one.broker.partition("t", index))
    if log.last_stable_offset == log.log_start_offset:
        return []
    found = log.read(log.log_start_offset, 1 << 24, ReadBound.LAST_STABLE, True)
    assert found.slice is not None
    data = found.slice.read()
    found.slice.release()
    waiting = sorted(found.aborted_transactions or (), key=lambda each: each.first_offset)
    aborting: set[int] = set()
    values = []
    for batch in iterate_batches(data):
        if batch.base_offset >= log.last_stable_offset:
            break
        while waiting and waiting[0].first_offset <= batch.base_offset:
            aborting.add(waiting.pop(0).producer_id)
        if batch.is_control:
            marker = parse_end_transaction_marker(batch)
            if marker is not None and not marker.commit:
                aborting.discard(batch.producer_id)
        elif batch.producer_id not in aborting:
            values += [record.value or b"" for record in batch.records()]
    return values


TestTransactions = TransactionMachine.TestCase
TestTransactions.settings = settings(stateful_step_count=30)
