"""DeleteRecords (21): move the log start offset of partitions forward (KIP-107).

v1 the answer comes before the client is throttled, v2 flexible.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class DeleteRecordsPartition(Message):
    """The offset before which records go; -1 stands for the high watermark."""

    partition_index: int = int32()
    offset: int = int64()


class DeleteRecordsTopic(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[DeleteRecordsPartition] = array(DeleteRecordsPartition)


class DeleteRecordsRequest(Request, api_key=ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+"):
    """Where to cut, and how long to wait until every replica has."""

    topics: list[DeleteRecordsTopic] = array(DeleteRecordsTopic)
    timeout_ms: int = int32()

    def refusal(self, failure: Failure) -> "DeleteRecordsResponse":
        """The code for each partition."""
        return DeleteRecordsResponse(
            topics=[
                DeleteRecordsTopicResult(
                    name=topic.name,
                    partitions=[
                        DeleteRecordsPartitionResult(
                            partition_index=partition.partition_index, error_code=failure.code
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in self.topics
            ]
        )


class DeleteRecordsPartitionResult(Message):
    """The smallest log start offset of the live replicas; -1 with an error."""

    partition_index: int = int32()
    low_watermark: int = int64(default=-1)
    error_code: int = int16()


class DeleteRecordsTopicResult(Message):
    """The partitions of one topic."""

    name: str = string()
    partitions: list[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult)


class DeleteRecordsResponse(Response, api_key=ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+"):
    """Where each partition begins now."""

    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult)
