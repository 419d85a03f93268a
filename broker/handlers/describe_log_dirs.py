"""DescribeLogDirs (35): each log directory of this broker with its size and its replicas (KIP-113).

Topics null asks for all replicas, an empty list for none of them; directories are always listed.
A directory that is offline answers KAFKA_STORAGE_ERROR and its path. A log that is being moved is
listed twice: where it is, and where its copy is, whose lag is that behind the log.
v4 the volume's bytes, v5 whether the directory is cordoned.
"""

from collections.abc import Collection

from broker.context import RequestContext
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.model import TopicPartition
from storage.log.partition_log import PartitionLog
from storage.log_manager import LogDirState, LogManager


def handle_describe_log_dirs(
    _: RequestContext,
    request: DescribeLogDirsRequest,
    *,
    replicas: ReplicaManager,
    logs: LogManager,
) -> DescribeLogDirsResponse:
    """List all directories, with those of the wanted replicas that lie there."""
    wanted: Collection[TopicPartition] = replicas.partitions
    if request.topics is not None:
        wanted = {
            TopicPartition(topic.topic, index)
            for topic in request.topics
            for index in topic.partitions
        }
    by_directory: dict[str, dict[str, list[DescribeLogDirsPartition]]] = {}
    for topic_partition in wanted:
        current, future = logs.get(topic_partition), logs.future(topic_partition)
        if current is None:
            continue
        lag = max(current.high_watermark - current.log_end_offset, 0)
        _list(by_directory, current, lag, is_future=False)
        if future is not None:
            lag = current.log_end_offset - future.log_end_offset
            _list(by_directory, future, lag, is_future=True)
    results = [
        _directory(state, by_directory.get(state.path, {})) for state in logs.log_dir_states()
    ]
    return DescribeLogDirsResponse(results=results)


def _list(
    by_directory: dict[str, dict[str, list[DescribeLogDirsPartition]]],
    log: PartitionLog,
    lag: int,
    *,
    is_future: bool,
) -> None:
    topic, index = log.topic_partition
    by_directory.setdefault(log.log_dir, {}).setdefault(topic, []).append(
        DescribeLogDirsPartition(
            partition_index=index,
            partition_size=log.size,
            offset_lag=lag,
            is_future_key=is_future,
        )
    )


def _directory(
    state: LogDirState, topics: dict[str, list[DescribeLogDirsPartition]]
) -> DescribeLogDirsResult:
    if state.offline:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=state.path)
    return DescribeLogDirsResult(
        log_dir=state.path,
        topics=[
            DescribeLogDirsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        total_bytes=state.total_bytes,
        usable_bytes=state.usable_bytes,
        is_cordoned=state.cordoned,
    )
