"""ListOffsets (2): offsets by place or by time, each partition for itself.

v4 leader epochs, v5 OFFSET_NOT_AVAILABLE (before: LEADER_NOT_AVAILABLE), v7 the largest timestamp,
v8 the local log's start, v9 the last tiered offset, v11 the earliest not uploaded yet; below its
version, and for any other negative number, a timestamp is answered UNSUPPORTED_VERSION. A
partition asked for twice is answered INVALID_REQUEST.

Times that have to be searched for in more than a few warm kilobytes are searched for by workers,
one partition after another; the other partitions' answers wait with them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from broker.context import HandlerResult, RequestContext
from broker.replication.offset_lookup import OffsetQuestion, TimestampOffsetEpoch
from broker.replication.partition import reader_bound
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.model import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    IsolationLevel,
    SpecialTimestamp,
    TopicPartition,
)
from runtime.blocking import FewAtOnce, Workers
from storage.errors import StorageError
from storage.log.offsets import LogTimeSearch

FIRST_VERSION: Final[dict[int, int]] = {
    SpecialTimestamp.LATEST: 1,
    SpecialTimestamp.EARLIEST: 1,
    SpecialTimestamp.MAX_TIMESTAMP: 7,
    SpecialTimestamp.EARLIEST_LOCAL: 8,
    SpecialTimestamp.LATEST_TIERED: 9,
    SpecialTimestamp.EARLIEST_PENDING_UPLOAD: 11,
}
NEVER: Final = 2**15
SEARCHES_AT_ONCE: Final = 16
"""Times of a request that may be searched for on the loop, some 50 µs each."""
FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE: Final = 5


def handle_list_offsets(
    context: RequestContext,
    request: ListOffsetsRequest,
    *,
    replicas: ReplicaManager,
    workers: Workers | FewAtOnce,
) -> HandlerResult:
    """Answer each partition; errors stay with their partition."""
    return _Answer(context, request, replicas).give(workers)


class _Answer:
    """One request on its way: what can be answered at once, then what has to be searched for."""

    __slots__ = ("_at_once", "_replica_id", "_replicas", "_request", "_response", "_version")

    def __init__(
        self, context: RequestContext, request: ListOffsetsRequest, replicas: ReplicaManager
    ) -> None:
        self._request = request
        self._replica_id = request.replica_id
        self._version = context.api_version
        self._replicas = replicas
        self._response = ListOffsetsResponse()
        self._at_once = SEARCHES_AT_ONCE

    def give(self, workers: Workers | FewAtOnce) -> HandlerResult:
        """The response, or the task that makes it."""
        unknown = []
        for answer, question in self._questions():
            try:
                self._refuse_early(question)
                outcome = self._ask(question)
            except KafkaError as error:
                answer.error_code = self._code_for(error.code)
                continue
            if isinstance(outcome, LogTimeSearch):
                # Planned again when it is its turn: until then it would keep a file open.
                outcome.release()
                unknown.append((answer, question))
            else:
                answer.timestamp, answer.offset, answer.leader_epoch = outcome
        return self._search_for(unknown, workers) if unknown else self._response

    def _questions(self) -> Iterator[tuple[ListOffsetsPartitionResponse, OffsetQuestion]]:
        """Each partition's answer, still to be filled in; those asked twice are refused."""
        request = self._request
        bound = reader_bound(
            request.replica_id, request.isolation_level == IsolationLevel.READ_COMMITTED
        )
        asked = Counter(
            (topic.name, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        )
        for topic in request.topics:
            answers = []
            for partition in topic.partitions:
                answer = ListOffsetsPartitionResponse(partition_index=partition.partition_index)
                answers.append(answer)
                topic_partition = TopicPartition(topic.name, partition.partition_index)
                if asked[topic_partition] > 1:
                    answer.error_code = ErrorCode.INVALID_REQUEST
                    continue
                yield (
                    answer,
                    OffsetQuestion(
                        topic_partition,
                        partition.timestamp,
                        bound,
                        partition.current_leader_epoch,
                        leader_only=self._replica_id != DEBUGGING_REPLICA_ID,
                    ),
                )
            self._response.topics.append(
                ListOffsetsTopicResponse(name=topic.name, partitions=answers)
            )

    def _refuse_early(self, question: OffsetQuestion) -> None:
        timestamp = question.timestamp
        if timestamp < 0 and self._version < FIRST_VERSION.get(timestamp, NEVER):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def _ask(self, question: OffsetQuestion) -> TimestampOffsetEpoch | LogTimeSearch:
        if question.timestamp >= 0 or question.timestamp == SpecialTimestamp.MAX_TIMESTAMP:
            self._at_once -= 1
        return self._replicas.list_offset(question, at_once=self._at_once >= 0)

    async def _search_for(
        self,
        unknown: Sequence[tuple[ListOffsetsPartitionResponse, OffsetQuestion]],
        workers: Workers | FewAtOnce,
    ) -> ListOffsetsResponse:
        for answer, question in unknown:
            try:
                found = await self._searched(question, workers)
            except KafkaError as error:
                answer.error_code = self._code_for(error.code)
            else:
                answer.timestamp, answer.offset, answer.leader_epoch = found
        return self._response

    async def _searched(
        self, question: OffsetQuestion, workers: Workers | FewAtOnce
    ) -> TimestampOffsetEpoch:
        """Search in workers, leadership checked again after each segment."""
        ask = partial(self._replicas.list_offset, question, at_once=False)
        outcome = ask()
        while isinstance(outcome, LogTimeSearch):
            search = outcome
            search.take_along()
            try:
                await workers.run(search.run)
                outcome = ask(search)
            except StorageError as error:
                raise self._replicas.storage_failed(error) from error
            except KafkaError:
                if not search.disturbed:
                    raise
                outcome = ask()
            finally:
                search.release()
        return outcome

    def _code_for(self, code: ErrorCode) -> ErrorCode:
        if (
            code == ErrorCode.OFFSET_NOT_AVAILABLE
            and self._version < FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE
            and self._replica_id == CONSUMER_REPLICA_ID
        ):
            return ErrorCode.LEADER_NOT_AVAILABLE
        return code
