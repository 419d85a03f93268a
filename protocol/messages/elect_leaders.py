"""ElectLeaders (43): have partitions led by their preferred replica, or by any live one.

v0 preferred leaders only (KIP-183), v1 unclean elections, and a code at the top (KIP-460), v2
flexible.
"""

import enum

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int8, int16, int32, string
from protocol.schema.message import Failure, Message, Request, Response


class ElectionType(enum.IntEnum):
    """Which replica is to lead."""

    PREFERRED = 0
    UNCLEAN = 1


class TopicPartitions(Message):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


class ElectLeadersRequest(Request, api_key=ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+"):
    """Which partitions, null for all, by which election (`ElectionType`)."""

    election_type: int = int8("1+", ignorable=False)
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, nullable="0+")
    timeout_ms: int = int32(default=60000)

    def refusal(self, failure: Failure) -> "ElectLeadersResponse":
        """The code for each partition named, and from v1 at the top."""
        return ElectLeadersResponse(
            error_code=failure.code if failure.version >= 1 else 0,
            replica_election_results=[
                ReplicaElectionResult(
                    topic=topic.topic,
                    partition_result=[
                        PartitionResult(
                            partition_id=index,
                            error_code=failure.code,
                            error_message=failure.message,
                        )
                        for index in topic.partitions
                    ],
                )
                for topic in self.topic_partitions or ()
            ],
        )


class PartitionResult(Message):
    """What became of one partition."""

    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


class ReplicaElectionResult(Message):
    """The partitions of one topic."""

    topic: str = string()
    partition_result: list[PartitionResult] = array(PartitionResult)


class ElectLeadersResponse(Response, api_key=ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+"):
    """What became of each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16("1+", ignorable=False)
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult)
