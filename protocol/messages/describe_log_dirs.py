"""DescribeLogDirs (35): which replicas each log directory of this broker holds (KIP-113).

v1 the answer comes before the client is throttled, v2 flexible, v3 an error at the top, v4 the size
of the volume (KIP-827), v5 cordoned directories (KIP-1066).
"""

from protocol.api_keys import ApiKey
from protocol.schema.fields import array, boolean, int16, int32, int64, string
from protocol.schema.message import Failure, Message, Request, Response


class DescribableLogDirTopic(Message):
    """The partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


class DescribeLogDirsRequest(
    Request, api_key=ApiKey.DESCRIBE_LOG_DIRS, versions="1-5", flexible="2+"
):
    """Which partitions are of interest: null for all."""

    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable="0+")

    def refusal(self, failure: Failure) -> "DescribeLogDirsResponse":
        """The code at the top from v3; before, just no directories."""
        return DescribeLogDirsResponse(error_code=failure.code)


class DescribeLogDirsPartition(Message):
    """A replica in a directory: its bytes, and how far a future log is behind the current one."""

    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


class DescribeLogDirsTopic(Message):
    """The replicas of one topic."""

    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


class DescribeLogDirsResult(Message):
    """One directory; sizes of its volume are -1 when they cannot be told."""

    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64("4+", default=-1)
    usable_bytes: int = int64("4+", default=-1)
    is_cordoned: bool = boolean("5+")


class DescribeLogDirsResponse(
    Response, api_key=ApiKey.DESCRIBE_LOG_DIRS, versions="1-5", flexible="2+"
):
    """All directories of this broker."""

    throttle_time_ms: int = int32()
    error_code: int = int16("3+")
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
