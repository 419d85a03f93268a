from collections.abc import Awaitable

from broker.handlers.write_txn_markers import handle_write_txn_markers
from broker.turns import APPENDS_PER_TURN
from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.replicas import Delivery, context_of
from tests.support.transactions import TransactionBroker


def marker(*indexes: int, producer_id: int = 7, version: int = 0) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=0,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name="t", partition_indexes=list(indexes))],
        coordinator_epoch=0,
        transaction_version=version,
    )


def codes(response: WriteTxnMarkersResponse) -> list[list[int]]:
    return [
        [each.error_code for topic in one.topics for each in topic.partitions]
        for one in response.markers
    ]


def test_each_partition_of_each_marker_has_its_code() -> None:
    one = TransactionBroker()
    one.broker.append(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    request = WriteTxnMarkersRequest(
        markers=[marker(0, 1, 9), marker(1, producer_id=8), marker(0, version=2)]
    )
    result = handle_write_txn_markers(context_of(2), request, writer=one.writer)
    reply = Delivery(result, WriteTxnMarkersResponse).reply
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(reply) == [[0, 0, unknown], [0], [0]]
    assert one.broker.log().last_stable_offset == one.broker.log().log_end_offset
    assert one.markers("t", 1) == [(7, 0, False), (8, 0, False)]


async def test_many_markers_let_others_have_their_turn() -> None:
    one = TransactionBroker()
    request = WriteTxnMarkersRequest(markers=[marker(0)] * (APPENDS_PER_TURN + 1))
    result = handle_write_txn_markers(context_of(2), request, writer=one.writer)
    assert isinstance(result, Awaitable)
    assert len(one.markers()) == 0
    reply = await result
    assert isinstance(reply, WriteTxnMarkersResponse)
    assert codes(reply) == [[0]] * (APPENDS_PER_TURN + 1)
