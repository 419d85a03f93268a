"""Produce (0): append record batches.

Codes in the order in which they are looked for: 100 unknown topic id, 3 unknown partition, 87/2/76
shape of the batch, 53/49/47/48/51/120 transactional, 21 acks, 17 internal topic, then the
partition's: 6 leader, 19 in-sync set, 10/2/32/87/… log. A small request is worked off in this call;
one of more than a megabyte, of hundreds of partitions, or with a batch that unfolds to a lot, in a
task that yields between partitions. v7 zstd, v8 record errors and texts, v10 the current leader,
v11 knows TRANSACTION_ABORTABLE, v12 has its partitions join the transaction, v13 topics by id.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Final

from broker.context import (
    CLOSE_CONNECTION,
    NO_RESPONSE,
    HandlerResult,
    Parked,
    Reply,
    RequestContext,
)
from broker.coordinator.transaction.asking import TransactionQuestions
from broker.handlers.transactional_produce import TransactionalBatches
from broker.replication.delayed_produce import DelayedProduce, PendingAppend
from broker.replication.partition import Partition
from broker.replication.replica_manager import EXPECTED_APPEND_ERRORS, ReplicaManager
from broker.turns import (
    APPENDS_PER_TURN,
    PARTITIONS_PER_TURN,
    WORK_PER_TURN_BYTES,
    NextTurn,
    reply_of,
    sliced,
)
from cluster.metadata_cache import INTERNAL_TOPICS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.model import NO_OFFSET, TopicPartition
from runtime.blocking import FewAtOnce, Workers
from storage.log.results import AppendResult, InvalidRecords, Origin
from storage.log.validator import NeedsWorker
from storage.producer.verification import NO_TERMS, TransactionTerms

FIRST_VERSION_WITH_TOPIC_IDS: Final = 13
FIRST_VERSION_WITH_ZSTD: Final = 7
FIRST_VERSION_WITH_CURRENT_LEADER: Final = 10
ADMIN_CLIENT_ID: Final = "__admin_client"
"""The one client id that may write to internal topics."""

_LENGTH_AND_MAGIC: Final = Struct(">8xi4xB")
_LOG_OVERHEAD: Final = 12
_SMALLEST_LENGTH: Final = 14
_ATTRIBUTES_LOW_BYTE: Final = 22
_BATCH_HEADER: Final = 61
_TRANSACTIONAL: Final = 0x10
_ZSTD: Final = 4
_NONE: Final = ErrorCode.NONE
_CLIENT: Final = Origin.CLIENT
_VALID_ACKS: Final = (-1, 0, 1)

# What is to be appended where, and the answer to fill in.
Entry = tuple[PartitionProduceResponse, TopicPartition, memoryview]


def handle_produce(
    context: RequestContext,
    request: ProduceRequest,
    *,
    replicas: ReplicaManager,
    workers: Workers | FewAtOnce,
    questions: TransactionQuestions,
) -> HandlerResult:
    """Append each batch; the answer waits for acknowledgement by replicas and disk where asked."""
    production = _Production(context, request, replicas, questions)
    count = 0
    for topic in request.topic_data:
        count += len(topic.partition_data)
    if count > APPENDS_PER_TURN:
        _keep_records(request)
        return production.in_turns(workers)
    nbytes = production.collect()
    if production.is_transactional:
        waiting = production.ask()
        if waiting is not None:
            production.entries = _kept(production.entries)
            return production.once_told(waiting, workers)
    production.refuse_acks()
    entries = production.entries
    if nbytes > WORK_PER_TURN_BYTES:
        return production.work_off(entries, workers)
    append = production.append
    for position, entry in enumerate(entries):
        try:
            append(entry)
        except NeedsWorker:
            return production.work_off(_kept(entries[position:]), workers)
    return production.reply()


class _Production:
    """One produce request on its way through the log."""

    __slots__ = (
        "_context",
        "_pending",
        "_questions",
        "_replicas",
        "_request",
        "_response",
        "_terms",
        "entries",
        "is_transactional",
    )

    def __init__(
        self,
        context: RequestContext,
        request: ProduceRequest,
        replicas: ReplicaManager,
        questions: TransactionQuestions,
    ) -> None:
        self._context = context
        self._request = request
        self._replicas = replicas
        self._response = ProduceResponse()
        self._pending: list[tuple[PartitionProduceResponse, PendingAppend]] = []
        self._questions = questions
        self._terms: Mapping[TopicPartition, TransactionTerms] = {}
        self.is_transactional = False
        self.entries: list[Entry] = []

    def collect(self) -> int:
        """Make the answers, refuse what needs no log to be refused; returns the bytes left."""
        nbytes = 0
        for topic in self._request.topic_data:
            nbytes += self._take_in(topic.partition_data, *self._open_topic(topic))
        return nbytes

    async def in_turns(self, workers: Workers | FewAtOnce) -> Reply:
        """All of a request with many partitions, with turns for others between."""
        for topic in self._request.topic_data:
            name, answers = self._open_topic(topic)
            for some in sliced(topic.partition_data, PARTITIONS_PER_TURN):
                self._take_in(some, name, answers)
                await NextTurn()
        if self.is_transactional:
            waiting = self.ask()
            if waiting is not None:
                await reply_of(waiting)
        self.refuse_acks()
        return await self.work_off(self.entries, workers)

    async def once_told(self, waiting: Parked, workers: Workers | FewAtOnce) -> Reply:
        """All that is left of the request once the coordinator has answered."""
        await reply_of(waiting)
        self.refuse_acks()
        return await self.work_off(self.entries, workers)

    def _open_topic(
        self, topic: TopicProduceData
    ) -> tuple[str | None, list[PartitionProduceResponse]]:
        """Name of the topic, None if there is none, and where its answers go."""
        name: str | None = topic.name
        if self._context.header.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
            image = self._replicas.metadata.topic_by_id(topic.topic_id)
            name = None if image is None else image.name
        answers: list[PartitionProduceResponse] = []
        self._response.responses.append(
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=answers
            )
        )
        return name, answers

    def _take_in(
        self,
        partitions: Sequence[PartitionProduceData],
        name: str | None,
        answers: list[PartitionProduceResponse],
    ) -> int:
        version = self._context.header.api_version
        metadata = self._replicas.metadata
        hosted = self._replicas.partitions
        entries = self.entries
        nbytes = 0
        for partition in partitions:
            answer = PartitionProduceResponse(index=partition.index, base_offset=NO_OFFSET)
            answers.append(answer)
            if name is None:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_ID
                continue
            topic_partition = TopicPartition(name, partition.index)
            records = partition.records
            if topic_partition not in hosted and metadata.partition(topic_partition) is None:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                code = batch_refusal(records, version)
            answer.error_code = code
            if records is not None and not code:
                nbytes += len(records)
                entries.append((answer, topic_partition, records))
                if records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL:
                    self.is_transactional = True
        return nbytes

    def ask(self) -> Parked | None:
        """Ask whether the transactional batches may be appended; None if that is known at once."""
        transactional_id = self._request.transactional_id
        if transactional_id is None:
            self._refuse_request(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            return None
        batches = TransactionalBatches(
            [(tp, records) for _, tp, records in self.entries if _is_transactional(records)],
            self._context.header.api_version,
            self._replicas,
            self._questions,
        )
        try:
            waiting = batches.ask(transactional_id)
        except KafkaError as error:
            self._refuse_request(error.code)
            return None
        self._terms = batches.terms
        if waiting is None:
            self._refuse_some(batches.refused)
            return None
        told = Parked()

        def tell(_: object) -> None:
            self._refuse_some(batches.refused)
            told.complete(None)

        waiting.attach(tell)
        return told

    def _refuse_some(self, refused: Mapping[TopicPartition, KafkaError]) -> None:
        """Refuse the transactional batches of these partitions."""
        if not refused:
            return
        left = []
        for entry in self.entries:
            answer, topic_partition, records = entry
            error = refused.get(topic_partition) if _is_transactional(records) else None
            if error is None:
                left.append(entry)
            else:
                answer.error_code, answer.error_message = error.code, error.message
        self.entries = left

    def refuse_acks(self) -> None:
        """Refuse everything where the wanted acknowledgement is none."""
        if self._request.acks not in _VALID_ACKS:
            self._refuse_all(ErrorCode.INVALID_REQUIRED_ACKS)

    def _refuse_request(self, code: ErrorCode) -> None:
        for topic in self._response.responses:
            for answer in topic.partition_responses:
                answer.error_code = code
        self.entries = []

    def _refuse_all(self, code: ErrorCode) -> None:
        for answer, _, _ in self.entries:
            answer.error_code = code
        self.entries = []

    def append(self, entry: Entry) -> None:
        """Append one batch and fill in its answer; raises NeedsWorker with nothing done."""
        answer, topic_partition, records = entry
        partition: Partition | None = None
        try:
            partition = self._leader(topic_partition)
            result = self._replicas.append(
                partition,
                records,
                self._request.acks,
                _CLIENT,
                self._terms.get(topic_partition, NO_TERMS),
            )
        except KafkaError as error:
            self._refused(answer, partition, error)
        else:
            self._appended(answer, partition, result)

    async def work_off(self, entries: Sequence[Entry], workers: Workers | FewAtOnce) -> Reply:
        """Append batch by batch, validating the heavy ones in a worker; then reply."""
        done_bytes = done = 0
        for entry in entries:
            if done_bytes >= WORK_PER_TURN_BYTES or done >= APPENDS_PER_TURN:
                done_bytes = done = 0
                await NextTurn()
            try:
                self.append(entry)
                done_bytes += len(entry[2])
                done += 1
            except NeedsWorker:
                await self._append_by_worker(entry, workers)
        reply = self.reply()
        if not isinstance(reply, Parked):
            return reply
        return await reply_of(reply)

    async def _append_by_worker(self, entry: Entry, workers: Workers | FewAtOnce) -> None:
        answer, topic_partition, records = entry
        partition: Partition | None = None
        try:
            partition = self._leader(topic_partition)
            prepare = self._replicas.preparation(partition, records)
            prepared = await workers.run(prepare)
            # Everything may have changed meanwhile: the role, the in-sync set, the partition.
            partition = self._leader(topic_partition)
            terms = self._terms.get(topic_partition, NO_TERMS)
            result = self._replicas.append_prepared(partition, prepared, self._request.acks, terms)
        except KafkaError as error:
            self._refused(answer, partition, error)
        else:
            self._appended(answer, partition, result)

    def _leader(self, topic_partition: TopicPartition) -> Partition:
        if topic_partition[0] in INTERNAL_TOPICS and self._context.client_id != ADMIN_CLIENT_ID:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition = self._replicas.partitions.get(topic_partition)
        return partition if partition is not None else self._replicas.hosted(topic_partition)

    def _appended(
        self, answer: PartitionProduceResponse, partition: Partition, result: AppendResult
    ) -> None:
        answer.base_offset = result.base_offset
        answer.log_append_time_ms = result.log_append_time_ms
        answer.log_start_offset = result.log_start_offset
        acks = self._request.acks
        if acks == 0:
            return
        end_offset = result.last_offset + 1
        outcome = partition.acknowledgement(end_offset, acks)
        if outcome is None:
            self._pending.append((answer, PendingAppend(partition, end_offset)))
        elif outcome is not _NONE:
            answer.error_code = outcome

    def _refused(
        self, answer: PartitionProduceResponse, partition: Partition | None, error: KafkaError
    ) -> None:
        answer.error_code = error.code
        if isinstance(error, InvalidRecords):
            # Only a judgement on single records is put into words for the producer.
            answer.error_message = error.message
            answer.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=reason)
                for index, reason in error.record_errors
            ]
        log = None if partition is None else partition.log
        if log is not None and error.code not in EXPECTED_APPEND_ERRORS:
            answer.log_start_offset = log.log_start_offset
        if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self._tell_leader(answer, partition)

    def _tell_leader(self, answer: PartitionProduceResponse, partition: Partition | None) -> None:
        if self._context.api_version < FIRST_VERSION_WITH_CURRENT_LEADER or partition is None:
            return
        leader = partition.leader
        answer.current_leader = LeaderIdAndEpoch(
            leader_id=leader, leader_epoch=partition.leader_epoch
        )
        metadata = self._replicas.metadata
        endpoint = metadata.endpoint(leader, self._context.listener_name)
        known = self._response.node_endpoints
        if endpoint is not None and all(node.node_id != leader for node in known):
            rack = metadata.brokers[leader].rack
            known.append(
                NodeEndpoint(node_id=leader, host=endpoint.host, port=endpoint.port, rack=rack)
            )

    def reply(self) -> Reply | Parked:
        """The response, or the parked one where an acknowledgement is still to come."""
        if self._request.acks == 0:
            return self._silence()
        if not self._pending:
            return self._response
        parked = Parked()

        def done(_: Sequence[PendingAppend]) -> None:
            parked.on_abandon = None
            for answer, append in self._pending:
                assert append.error is not None
                answer.error_code = append.error
            parked.complete(self._response)

        appends = [append for _, append in self._pending]
        operation = DelayedProduce(self._request.acks, appends, done, parked.fail)
        self._replicas.wait_for_appends(operation, self._request.timeout_ms)
        if not operation.completed:
            parked.on_abandon = operation.cancel
        return parked

    def _silence(self) -> Reply:
        failed = any(
            answer.error_code
            for topic in self._response.responses
            for answer in topic.partition_responses
        )
        return CLOSE_CONNECTION if failed else NO_RESPONSE


def _keep_records(request: ProduceRequest) -> None:
    """Take the records out of the frame, which is gone after this turn unless it is large."""
    partitions = [partition for topic in request.topic_data for partition in topic.partition_data]
    nbytes = sum([len(one.records) for one in partitions if one.records is not None])
    if nbytes <= WORK_PER_TURN_BYTES:
        for one in partitions:
            if one.records is not None:
                one.records = memoryview(bytearray(one.records))


def batch_refusal(records: memoryview | None, version: int) -> ErrorCode:
    """Whether the bytes are one v2 batch of a kind this version may send.

    A cut batch behind the first is not looked at: the log cuts it off.
    """
    size = 0 if records is None else len(records)
    if records is None or size < _LENGTH_AND_MAGIC.size:
        return ErrorCode.INVALID_RECORD
    length, magic = _LENGTH_AND_MAGIC.unpack_from(records)
    if length < _SMALLEST_LENGTH or magic > 2:
        return ErrorCode.CORRUPT_MESSAGE
    end = _LOG_OVERHEAD + length
    if end > size or magic != 2:
        return ErrorCode.INVALID_RECORD
    if end < _BATCH_HEADER:
        return ErrorCode.CORRUPT_MESSAGE
    attributes = records[_ATTRIBUTES_LOW_BYTE]
    if attributes & 7 == _ZSTD and version < FIRST_VERSION_WITH_ZSTD:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if end != size and _holds_batch(records[end:]):
        return ErrorCode.INVALID_RECORD
    return _NONE


def _is_transactional(records: memoryview) -> bool:
    return bool(records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL)


def _kept(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with their bytes taken out of the frame, which is gone after the handler."""
    return [(answer, tp, memoryview(bytearray(records))) for answer, tp, records in entries]


def _holds_batch(rest: memoryview) -> bool:
    if len(rest) < _LENGTH_AND_MAGIC.size:
        return False
    length: int = _LENGTH_AND_MAGIC.unpack_from(rest)[0]
    return _SMALLEST_LENGTH <= length <= len(rest) - _LOG_OVERHEAD
