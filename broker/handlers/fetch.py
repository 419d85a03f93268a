"""Fetch (1): read record batches, at once or as soon as there is enough (KIP-74, KIP-227).

    session → wanted partitions → read → enough? answer : wait, read again, answer

v4 read_committed bound and aborted transactions, v7 sessions, v9 leader epochs, v11 consumers may
read followers, v12 divergence told to followers, v13 topics by id (unknown: 100, checked again at
every request of the session), v16 the current leader and its endpoint.
"""

from typing import Final

from broker.context import HandlerResult, Parked, RequestContext
from broker.replication.delayed_fetch import FetchParams
from broker.replication.fetch_session import FetchContext, Reads
from broker.replication.fetch_session_cache import FetchSessionCache, FetchSessionRequest
from broker.replication.partition import reader_bound
from broker.replication.partition_read import PartitionRead
from broker.replication.partition_reader import is_satisfied
from broker.replication.replica_manager import ReplicaManager
from broker.replication.wanted_partition import WantedKey, WantedPartition
from cluster.metadata_cache import MetadataCache
from config.definition import Live
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchNodeEndpoint,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from protocol.model import (
    CONSUMER_REPLICA_ID,
    NO_LEADER_EPOCH,
    ZERO_TOPIC_ID,
    IsolationLevel,
    TopicPartition,
)
from runtime.clock import Clock

FIRST_VERSION_WITH_TOPIC_IDS: Final = 13
FIRST_VERSION_READING_FOLLOWERS: Final = 11
FIRST_VERSION_WITH_CURRENT_LEADER: Final = 16
_NOT_HOSTED: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def handle_fetch(
    context: RequestContext,
    request: FetchRequest,
    *,
    replicas: ReplicaManager,
    sessions: FetchSessionCache,
    clock: Clock,
    fetch_max_bytes: Live[int],
) -> HandlerResult:
    """Read now, or park until `min_bytes` are there, an error is, or `max_wait_ms` are over."""
    version = context.header.api_version
    session_request = _session_request(request, version, replicas.metadata)
    try:
        fetch = sessions.begin(session_request, clock.now_ms())
    except KafkaError as error:
        # Such an answer names no session and no partition, whatever was asked.
        return FetchResponse(error_code=error.code)
    wanted = fetch.wanted
    if session_request.uses_topic_ids:
        _resolve_again(wanted, replicas.metadata)
    replica_id = request.fetching_replica_id
    max_bytes = min(request.max_bytes, fetch_max_bytes())
    params = FetchParams(
        replica_id,
        request.max_wait_ms,
        min(request.min_bytes, max_bytes),
        max_bytes,
        reader_bound(replica_id, request.isolation_level == IsolationLevel.READ_COMMITTED),
        replica_id >= 0 or (replica_id == -1 and version < FIRST_VERSION_READING_FOLLOWERS),
    )
    reads = replicas.fetch(params, wanted)
    answer = _Answer(fetch, context, replicas, replica_id)
    if is_satisfied(params, reads):
        return answer.response(reads)
    for _, read in reads:
        read.release()
    operation = replicas.wait_for_fetch(params, wanted, answer.complete, answer.parked.fail)
    if not operation.completed:
        answer.parked.on_abandon = operation.cancel
    return answer.parked


def _session_request(
    request: FetchRequest, version: int, metadata: MetadataCache
) -> FetchSessionRequest:
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    wanted: dict[WantedKey, WantedPartition] = {}
    for topic in request.topics:
        name: str | None = topic.topic
        if by_id:
            image = metadata.topic_by_id(topic.topic_id)
            name = None if image is None else image.name
        for partition in topic.partitions:
            index = partition.partition
            key = (topic.topic_id, index) if by_id else TopicPartition(topic.topic, index)
            wanted[key] = _wanted_partition(name, topic.topic_id, partition)
    forgotten: list[WantedKey] = [
        (topic.topic_id, index) if by_id else TopicPartition(topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    return FetchSessionRequest(
        request.session_id,
        request.session_epoch,
        wanted,
        forgotten,
        by_id,
        request.fetching_replica_id >= 0,
    )


def _wanted_partition(
    name: str | None, topic_id: bytes, partition: FetchPartition
) -> WantedPartition:
    wanted = WantedPartition(
        None if name is None else TopicPartition(name, partition.partition),
        topic_id,
        partition.partition,
        partition.fetch_offset,
        partition.partition_max_bytes,
        max(partition.current_leader_epoch, NO_LEADER_EPOCH),
    )
    wanted.last_fetched_epoch = max(partition.last_fetched_epoch, NO_LEADER_EPOCH)
    wanted.log_start_offset = partition.log_start_offset
    return wanted


def _resolve_again(wanted: list[WantedPartition], metadata: MetadataCache) -> None:
    for one in wanted:
        if one.topic_partition is None:
            image = metadata.topic_by_id(one.topic_id)
            if image is not None:
                one.topic_partition = TopicPartition(image.name, one.partition)


class _Answer:
    """Turns the reads of one fetch into its response, now or once it was parked."""

    __slots__ = ("_context", "_fetch", "_replica_id", "_replicas", "parked")

    def __init__(
        self,
        fetch: FetchContext,
        context: RequestContext,
        replicas: ReplicaManager,
        replica_id: int,
    ) -> None:
        self._fetch = fetch
        self._context = context
        self._replicas = replicas
        self._replica_id = replica_id
        self.parked = Parked()

    def complete(self, reads: Reads) -> None:
        """Answer the parked request."""
        self.parked.on_abandon = None
        self.parked.complete(self.response(reads))

    def response(self, reads: Reads) -> FetchResponse:
        """The response, which owns the records of the reads from now on."""
        error, session_id, news = self._fetch.finish(reads)
        if error is not ErrorCode.NONE:
            for _, read in reads:
                read.release()
            return FetchResponse(error_code=error, session_id=session_id)
        response = FetchResponse(session_id=session_id)
        if not news:
            return response
        topic: FetchableTopicResponse | None = None
        last_name: str | None = None
        last_id = ZERO_TOPIC_ID
        leaders: set[int] = set()
        tells_leader = self._context.api_version >= FIRST_VERSION_WITH_CURRENT_LEADER
        for wanted, read in news:
            topic_partition = wanted.topic_partition
            name = "" if topic_partition is None else topic_partition[0]
            if topic is None or name != last_name or wanted.topic_id != last_id:
                last_name, last_id = name, wanted.topic_id
                topic = FetchableTopicResponse(topic=name, topic_id=wanted.topic_id, partitions=[])
                response.responses.append(topic)
            data = _partition_data(wanted.partition, read)
            topic.partitions.append(data)
            if read.records is not None:
                self._count(name, read.records.nbytes)
            if tells_leader and read.current_leader is not None:
                leader, epoch = read.current_leader
                data.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
                leaders.add(leader)
        if leaders:
            response.node_endpoints = self._endpoints(leaders)
        return response

    def _count(self, topic: str, nbytes: int) -> None:
        meters = self._replicas.meters.topic(topic)
        if self._replica_id > CONSUMER_REPLICA_ID:
            meters.replication_bytes_out += nbytes
        else:
            meters.bytes_out += nbytes

    def _endpoints(self, leaders: set[int]) -> list[FetchNodeEndpoint]:
        metadata = self._replicas.metadata
        found = []
        for leader in sorted(leaders):
            endpoint = metadata.endpoint(leader, self._context.listener_name)
            if endpoint is not None:
                rack = metadata.brokers[leader].rack
                found.append(
                    FetchNodeEndpoint(
                        node_id=leader, host=endpoint.host, port=endpoint.port, rack=rack
                    )
                )
        return found


def _partition_data(index: int, read: PartitionRead) -> PartitionData:
    # Kafka sends empty records, not null, for everything, and an empty list of transactions only
    # for what is not here.
    data = PartitionData(
        partition_index=index,
        error_code=read.error,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        records=b"" if read.records is None else read.records,
    )
    if read.error in _NOT_HOSTED:
        data.aborted_transactions = []
    elif read.aborted_transactions is not None:
        data.aborted_transactions = [
            AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
            for one in read.aborted_transactions
        ]
    if read.diverging_epoch is not None:
        epoch, end_offset = read.diverging_epoch
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return data
