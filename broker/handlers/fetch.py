"""Fetch (1): read record batches, at once or as soon as there is enough (KIP-74, KIP-227).

    session → wanted partitions → read → enough? answer : wait, read again, answer

v4 read_committed bound and aborted transactions, v7 sessions, v9 leader epochs, v11 consumers may
read followers, v12 divergence told to followers, v13 topics by id (unknown: 100, checked again at
every request of the session), v16 the current leader and its endpoint.
"""

from collections.abc import Sequence
from typing import Final

from broker.context import HandlerResult, Parked, Reply, RequestContext
from broker.replication.delayed_fetch import FetchParams
from broker.replication.fetch_session import FetchContext, Reads
from broker.replication.fetch_session_cache import FetchSessionCache, FetchSessionRequest
from broker.replication.partition import reader_bound
from broker.replication.partition_read import PartitionRead
from broker.replication.partition_reader import is_satisfied
from broker.replication.replica_manager import ReplicaManager
from broker.replication.wanted_partition import WantedKey, WantedPartition
from broker.turns import PARTITIONS_PER_TURN, NextTurn, reply_of, sliced
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
    FetchTopic,
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
    """Read now, or park until `min_bytes` are there, an error is, or `max_wait_ms` are over.

    Few partitions are worked through in one go, many in turns of PARTITIONS_PER_TURN.
    """
    limits = clock.now_ms(), fetch_max_bytes()
    named: dict[WantedKey, WantedPartition] = {}
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
        if count > PARTITIONS_PER_TURN:
            return _begin_in_turns(context, request, replicas, sessions, limits)
        _name(topic, topic.partitions, named, context.header.api_version, replicas.metadata)
    fetching = _begin(context, request, named, replicas, sessions, limits)
    if isinstance(fetching, FetchResponse):
        return fetching
    if len(fetching.wanted) > PARTITIONS_PER_TURN:
        return fetching.in_turns()
    return fetching.at_once()


async def _begin_in_turns(
    context: RequestContext,
    request: FetchRequest,
    replicas: ReplicaManager,
    sessions: FetchSessionCache,
    limits: tuple[int, int],
) -> Reply:
    """All of a fetch that names many partitions."""
    named: dict[WantedKey, WantedPartition] = {}
    for topic in request.topics:
        for some in sliced(topic.partitions, PARTITIONS_PER_TURN):
            _name(topic, some, named, context.api_version, replicas.metadata)
            await NextTurn()
    fetching = _begin(context, request, named, replicas, sessions, limits)
    return fetching if isinstance(fetching, FetchResponse) else await fetching.in_turns()


def _begin(
    context: RequestContext,
    request: FetchRequest,
    named: dict[WantedKey, WantedPartition],
    replicas: ReplicaManager,
    sessions: FetchSessionCache,
    limits: tuple[int, int],
) -> "_Fetching | FetchResponse":
    """The fetch of what is wanted, by request and session; a response where that is refused.

    `limits` are the time of the request and the most bytes of an answer.
    """
    now_ms, most_bytes = limits
    version = context.header.api_version
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    forgotten: list[WantedKey] = [
        (topic.topic_id, index) if by_id else TopicPartition(topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    replica_id = request.fetching_replica_id
    asked = FetchSessionRequest(
        request.session_id, request.session_epoch, named, forgotten, by_id, replica_id >= 0
    )
    try:
        fetch = sessions.begin(asked, now_ms)
    except KafkaError as error:
        # Such an answer names no session and no partition, whatever was asked.
        return FetchResponse(error_code=error.code)
    if by_id:
        _resolve_again(fetch.wanted, replicas.metadata)
    max_bytes = min(request.max_bytes, most_bytes)
    params = FetchParams(
        replica_id,
        request.max_wait_ms,
        min(request.min_bytes, max_bytes),
        max_bytes,
        reader_bound(replica_id, request.isolation_level == IsolationLevel.READ_COMMITTED),
        replica_id >= 0 or (replica_id == -1 and version < FIRST_VERSION_READING_FOLLOWERS),
    )
    return _Fetching(fetch, params, context, replicas)


def _name(
    topic: FetchTopic,
    partitions: Sequence[FetchPartition],
    named: dict[WantedKey, WantedPartition],
    version: int,
    metadata: MetadataCache,
) -> None:
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    name: str | None = topic.topic
    if by_id:
        image = metadata.topic_by_id(topic.topic_id)
        name = None if image is None else image.name
    for partition in partitions:
        index = partition.partition
        key = (topic.topic_id, index) if by_id else TopicPartition(topic.topic, index)
        named[key] = _wanted_partition(name, topic.topic_id, partition)


def release(reads: Reads) -> None:
    """Let go of what was read."""
    for _, read in reads:
        read.release()


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


class _Fetching:
    """One fetch from its first read to its response, now or once it was parked."""

    __slots__ = ("_context", "_fetch", "_params", "_parked", "_replicas", "wanted")

    def __init__(
        self,
        fetch: FetchContext,
        params: FetchParams,
        context: RequestContext,
        replicas: ReplicaManager,
    ) -> None:
        self._fetch = fetch
        self._params = params
        self._context = context
        self._replicas = replicas
        self.wanted = fetch.wanted

    def at_once(self) -> HandlerResult:
        """Read, then answer or wait."""
        params, replicas = self._params, self._replicas
        reads = replicas.fetch(params, self.wanted)
        if is_satisfied(params, reads):
            return self.response(reads)
        release(reads)
        parked = self._parked = Parked()
        operation = replicas.wait_for_fetch(params, self.wanted, self._complete, parked.fail)
        if not operation.completed:
            parked.on_abandon = operation.cancel
        return parked

    def _complete(self, reads: Reads) -> None:
        self._parked.on_abandon = None
        self._parked.complete(self.response(reads))

    async def in_turns(self) -> Reply:
        """Read, wait if need be and read again, answer; all with turns for others between."""
        reads: Reads = []
        try:
            await self._read_in_turns(reads)
            if not is_satisfied(self._params, reads):
                release(reads)
                reads.clear()
                await reply_of(self._enough())
                await self._read_in_turns(reads)
            response, news = self._begun(reads)
            for some in sliced(news, PARTITIONS_PER_TURN):
                await NextTurn()
                self._fill(response, some)
        except BaseException:
            release(reads)
            raise
        return response

    async def _read_in_turns(self, reads: Reads) -> None:
        taken_bytes = 0
        for some in sliced(self.wanted, PARTITIONS_PER_TURN):
            await NextTurn()
            found = self._replicas.fetch(self._params, some, taken_bytes)
            reads += found
            taken_bytes += sum([read.nbytes for _, read in found])

    def _enough(self) -> Parked:
        """Replies when it is time to read again."""
        parked = self._parked = Parked()
        operation = self._replicas.wait_for_fetch(
            self._params, self.wanted, self._due, parked.fail, read=False
        )
        if not operation.completed:
            parked.on_abandon = operation.cancel
        return parked

    def _due(self, _: Reads) -> None:
        self._parked.on_abandon = None
        self._parked.complete(None)

    def response(self, reads: Reads) -> FetchResponse:
        """The response, which owns the records of the reads from now on."""
        response, news = self._begun(reads)
        if news:
            self._fill(response, news)
        return response

    def _begun(self, reads: Reads) -> tuple[FetchResponse, Reads]:
        error, session_id, news = self._fetch.finish(reads)
        if error is not ErrorCode.NONE:
            release(reads)
            return FetchResponse(error_code=error, session_id=session_id), []
        return FetchResponse(session_id=session_id), news

    def _fill(
        self, response: FetchResponse, news: Sequence[tuple[WantedPartition, PartitionRead]]
    ) -> None:
        topic: FetchableTopicResponse | None = None
        last_name: str | None = None
        last_id = ZERO_TOPIC_ID
        if response.responses:
            topic = response.responses[-1]
            last_name, last_id = topic.topic, topic.topic_id
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
            told = {node.node_id for node in response.node_endpoints}
            response.node_endpoints += self._endpoints(leaders - told)

    def _count(self, topic: str, nbytes: int) -> None:
        meters = self._replicas.meters.topic(topic)
        if self._params.replica_id > CONSUMER_REPLICA_ID:
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
