"""WriteTxnMarkers (27): a coordinator has the ends of transactions written to logs (KIP-98).

Flexible from v1. v2 says by which transaction protocol the markers are checked (KIP-1228). Brokers
send it to each other; an operator may, to abort a hanging transaction (KIP-664). v0 ended with
Kafka 4.0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int8, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class WritableTxnMarkerTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


class WritableTxnMarker(Message):
    """The end of one transaction: true is a commit."""

    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: list[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()
    transaction_version: int = int8("2+")


class WriteTxnMarkersRequest(
    Request, api_key=ApiKey.WRITE_TXN_MARKERS, versions="1-2", flexible="1+"
):
    """The markers to write."""

    markers: list[WritableTxnMarker] = array(WritableTxnMarker)

    def refusal(self, failure: Failure) -> "WriteTxnMarkersResponse":
        """The code for each partition."""
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(
                                    partition_index=index, error_code=failure.code
                                )
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in self.markers
            ]
        )


class WritableTxnMarkerPartitionResult(Message):
    """What became of the marker in one partition."""

    partition_index: int = int32()
    error_code: int = int16()


class WritableTxnMarkerTopicResult(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[WritableTxnMarkerPartitionResult] = array(WritableTxnMarkerPartitionResult)


class WritableTxnMarkerResult(Message):
    """What became of one marker."""

    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult)


class WriteTxnMarkersResponse(
    Response, api_key=ApiKey.WRITE_TXN_MARKERS, versions="1-2", flexible="1+"
):
    """What became of each marker."""

    markers: list[WritableTxnMarkerResult] = array(WritableTxnMarkerResult)
