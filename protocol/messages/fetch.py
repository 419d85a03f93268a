"""Fetch (1): read record batches, as a consumer or as a follower.

v4 isolation levels and aborted transactions (KIP-98), v5 log start offsets, v7 sessions (KIP-227),
v9 leader epochs (KIP-320), v11 racks and the preferred read replica (KIP-392), v12 flexible, with
the follower's last fetched epoch and divergence told in the answer (KIP-595), v13 topic ids in
place of names (KIP-516), v15 the replica as a tagged struct with its epoch (KIP-903), v16 the
leader's endpoint beside NOT_LEADER_OR_FOLLOWER (KIP-951), v17 the directory id of a raft voter
(KIP-853), v18 the high watermark a raft follower knows (KIP-1166). v0-3 ended with Kafka 4.0.
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, int8, int16, int32, int64, records_, string, struct, uuid
from protocol.schema.message import Failure, Message, Records, Request, Response


class ReplicaState(Message):
    """The broker that fetches, where a broker does."""

    replica_id: int = int32("15+", default=-1)
    replica_epoch: int = int64("15+", default=-1)


class FetchPartition(Message):
    """One partition wanted by a fetch."""

    partition: int = int32()
    current_leader_epoch: int = int32("9+", default=-1)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32("12+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    partition_max_bytes: int = int32()
    replica_directory_id: bytes = uuid("17+", tag=0)
    high_watermark: int = int64("18+", tag=1, default=2**63 - 1)


class FetchTopic(Message):
    """The partitions wanted of one topic: named up to v12, by id from v13."""

    topic: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partitions: list[FetchPartition] = array(FetchPartition)


class ForgottenTopic(Message):
    """Partitions to be taken out of the fetch session."""

    topic: str = string("7-12")
    topic_id: bytes = uuid("13+")
    partitions: list[int] = array(int32, "7+")


class FetchRequest(Request, api_key=ApiKey.FETCH, versions="4-18", flexible="12+"):
    """What to read, how much of it, and how long to wait for it."""

    cluster_id: str | None = string("12+", nullable="12+", tag=0, default=None)
    replica_id: int = int32("0-14", default=-1)
    replica_state: ReplicaState | None = struct(ReplicaState, "15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32("3+", default=2**31 - 1)
    isolation_level: int = int8("4+")
    session_id: int = int32("7+")
    session_epoch: int = int32("7+", default=-1)
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, "7+")
    rack_id: str = string("11+")

    @property
    def fetching_replica_id(self) -> int:
        """The broker id of a follower, -1 of a consumer, whichever version said so."""
        return self.replica_id if self.replica_state is None else self.replica_state.replica_id

    @property
    def fetching_replica_epoch(self) -> int:
        """The broker epoch of a follower, -1 where it told none."""
        return -1 if self.replica_state is None else self.replica_state.replica_epoch

    def refusal(self, failure: Failure) -> "FetchResponse":
        """The code at the top from v7 on, and for each partition up to v12, where it has a name."""
        if failure.version >= 13:
            return FetchResponse(error_code=failure.code, session_id=self.session_id)
        topics = [
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[
                    PartitionData(partition_index=partition.partition, error_code=failure.code)
                    for partition in topic.partitions
                ],
            )
            for topic in self.topics
        ]
        return FetchResponse(error_code=failure.code, session_id=self.session_id, responses=topics)


class EpochEndOffset(Message):
    """Where the leader's log and the follower's part ways."""

    epoch: int = int32("12+", default=-1)
    end_offset: int = int64("12+", default=-1)


class LeaderIdAndEpoch(Message):
    """Who leads the partition now, as far as this broker knows."""

    leader_id: int = int32("12+", default=-1)
    leader_epoch: int = int32("12+", default=-1)


class SnapshotId(Message):
    """The snapshot a raft follower has to load instead."""

    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


class AbortedTransaction(Message):
    """A transaction whose records a read_committed reader drops, from this offset to its marker."""

    producer_id: int = int64("4+")
    first_offset: int = int64("4+")


class PartitionData(Message):
    """What was read of one partition."""

    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64(default=-1)
    last_stable_offset: int = int64("4+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    diverging_epoch: EpochEndOffset | None = struct(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch | None = struct(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId | None = struct(SnapshotId, "12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(
        AbortedTransaction, "4+", nullable="4+", default=None
    )
    preferred_read_replica: int = int32("11+", default=-1)
    records: Records = records_(nullable="0+", default=b"")


class FetchableTopicResponse(Message):
    """What was read of one topic."""

    topic: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partitions: list[PartitionData] = array(PartitionData)


class FetchNodeEndpoint(Message):
    """Where to reach a leader named in the answer."""

    node_id: int = int32("16+")
    host: str = string("16+")
    port: int = int32("16+")
    rack: str | None = string("16+", nullable="16+", default=None)


class FetchResponse(Response, api_key=ApiKey.FETCH, versions="4-18", flexible="12+"):
    """What was read; partitions without news are left out in a session."""

    throttle_time_ms: int = int32("1+")
    error_code: int = int16("7+")
    session_id: int = int32("7+")
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[FetchNodeEndpoint] = array(FetchNodeEndpoint, "16+", tag=0)
