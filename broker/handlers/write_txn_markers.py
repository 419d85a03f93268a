"""WriteTxnMarkers (27): the ends of transactions, written to the logs led here.

Brokers send it to each other; an operator sends it to abort a hanging transaction (KIP-664). v2
says by which transaction protocol a marker is checked; before that by the older one's rules.
"""

from collections.abc import Sequence
from typing import NamedTuple

from broker.context import HandlerResult, Parked, Reply, RequestContext
from broker.coordinator.parked_reply import Gathering, ParkedReply
from broker.coordinator.shard import Waiter, Writer
from broker.coordinator.transaction.marker_writing import Marker, MarkerWriter
from broker.turns import APPENDS_PER_TURN, NextTurn, reply_of, sliced
from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from protocol.model import TopicPartition
from protocol.records.control import EndTransactionMarker
from protocol.schema.message import Failure

Written = ErrorCode | None


class _Wanted(NamedTuple):
    """A marker in one partition, where its result goes, and who waits for it."""

    partition: TopicPartition
    marker: Marker
    result: WritableTxnMarkerPartitionResult


def handle_write_txn_markers(
    context: RequestContext, request: WriteTxnMarkersRequest, *, writer: MarkerWriter
) -> HandlerResult:
    """Write each marker to each partition, answered when all are safe or refused."""
    response = WriteTxnMarkersResponse()
    wanted = [one for marker in request.markers for one in _wanted(marker, response)]

    def written(outcomes: Sequence[Written]) -> WriteTxnMarkersResponse:
        for one, outcome in zip(wanted, outcomes, strict=True):
            one.result.error_code = outcome or ErrorCode.NONE
        return response

    client: ParkedReply[Sequence[Written]] = ParkedReply(
        written, lambda code: request.refusal(Failure(context.api_version, code, None))
    )
    gathering: Gathering[Written] = Gathering(client, len(wanted))
    waiters = [gathering.part(position, ErrorCode) for position in range(len(wanted))]
    writes = list(zip(wanted, waiters, strict=True))
    if len(writes) > APPENDS_PER_TURN:
        return _in_turns(writer, writes, client.parked)
    for one, waiter in writes:
        writer.write(one.partition, one.marker, waiter)
    return client.parked


def _wanted(marker: WritableTxnMarker, response: WriteTxnMarkersResponse) -> list[_Wanted]:
    """What a marker of the request asks for; its results are put in the response."""
    end = Marker(
        Writer(marker.producer_id, marker.producer_epoch),
        EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch),
        marker.transaction_version,
    )
    answer = WritableTxnMarkerResult(producer_id=marker.producer_id)
    response.markers.append(answer)
    wanted = []
    for topic in marker.topics:
        results = [
            WritableTxnMarkerPartitionResult(partition_index=index)
            for index in topic.partition_indexes
        ]
        answer.topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=results))
        wanted += [
            _Wanted(TopicPartition(topic.name, result.partition_index), end, result)
            for result in results
        ]
    return wanted


async def _in_turns(
    writer: MarkerWriter, writes: Sequence[tuple[_Wanted, Waiter]], parked: Parked
) -> Reply:
    """Many, with turns for others between."""
    for some in sliced(writes, APPENDS_PER_TURN):
        for one, waiter in some:
            writer.write(one.partition, one.marker, waiter)
        await NextTurn()
    return await reply_of(parked)
