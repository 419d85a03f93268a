"""Requests as bytes and a blocking connection: what the load generator speaks.

Versions are old enough for any broker of the last years and name topics, so that one set of frames
serves Tidelog, Kafka and other peers.
"""

import socket
from collections.abc import Sequence

from protocol.headers import encode_request
from protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.records.builder import build_batch
from protocol.records.record import Record
from protocol.schema.message import Request

PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION, CREATE_VERSION = 9, 12, 9, 5
LIST_OFFSETS_VERSION = 6
CLIENT_ID = "bench"
CORRELATION_ID = 7
TIMEOUT_SECONDS = 60


def batch_of(count: int, value_size: int, timestamp_ms: int | None = None) -> bytes:
    """One uncompressed batch of equal records, of now where no time is given."""
    value = (b"tidelog!" * (value_size // 8 + 1))[:value_size]
    now = _now_ms() if timestamp_ms is None else timestamp_ms
    return bytes(build_batch([Record(i, now, None, value, []) for i in range(count)]))


def keyed_batch(keys: Sequence[int], value_size: int) -> bytes:
    """One uncompressed batch with a record for each key."""
    value = (b"tidelog!" * (value_size // 8 + 1))[:value_size]
    now = _now_ms()
    records = [Record(i, now, b"key-%06d" % key, value, []) for i, key in enumerate(keys)]
    return bytes(build_batch(records))


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000


def frame(request: Request, version: int) -> bytes:
    """A whole request, size first; all versions used here have flexible headers."""
    return encode_request(request, version, CORRELATION_ID, CLIENT_ID)


def produce_frame(topic: str, partition: int, batch: bytes, acks: int = 1) -> bytes:
    """One batch for one partition."""
    data = PartitionProduceData(index=partition, records=memoryview(batch))
    request = ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    return frame(request, PRODUCE_VERSION)


def fetch_frame(
    topic: str, partition: int, offset: int, max_bytes: int, min_bytes: int = 1
) -> bytes:
    """A sessionless fetch of one partition; it waits until there are `min_bytes`."""
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    return frame(request, FETCH_VERSION)


def list_offsets_frame(topic: str, partition: int, timestamp_ms: int) -> bytes:
    """The first offset of this time or later."""
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp_ms)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])]
    )
    return frame(request, LIST_OFFSETS_VERSION)


class Connection:
    """A blocking socket that sends frames and reads whole responses."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(4 << 20)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._answered = 0

    def call(self, request: bytes) -> memoryview:
        """Send one frame and return the response body behind its flexible header."""
        self.socket.sendall(request)
        return self.response()[5:]

    def response(self) -> memoryview:
        """The next response without its size; the view is good until the one after it."""
        rest = self._view[self._answered : self._filled]
        self._view[: len(rest)] = bytes(rest)
        self._filled = len(rest)
        while True:
            if self._filled >= 4:
                self._answered = 4 + int.from_bytes(self._buffer[:4], "big")
                if self._filled >= self._answered:
                    return self._view[4 : self._answered]
            received = self.socket.recv_into(self._view[self._filled :])
            if received == 0:
                raise ConnectionError("the broker closed the connection")
            self._filled += received

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


def create_topic(
    connection: Connection, name: str, partitions: int, configs: dict[str, str]
) -> None:
    """Create a topic and wait until every partition has a leader."""
    from protocol.messages.create_topics import CreatableTopicConfig

    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    body = connection.call(frame(request, CREATE_VERSION))
    error = CreateTopicsResponse.decode(body, CREATE_VERSION).topics[0].error_code
    assert error in (0, 36), f"cannot create {name}: error {error}"
    while led_partitions(connection, name) < partitions:
        pass
    # Metadata may run ahead of the leaders: a partition counts once it answers a fetch.
    for partition in range(partitions):
        while fetch_error(connection.call(fetch_frame(name, partition, 0, 1000, min_bytes=0))):
            pass


def alter_topic(connection: Connection, name: str, configs: dict[str, str]) -> None:
    """Set configs of a topic."""
    settings = [
        AlterableConfig(name=key, config_operation=0, value=value) for key, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=settings)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    body = connection.call(frame(request, 1))
    error = IncrementalAlterConfigsResponse.decode(body, 1).responses[0].error_code
    assert error == 0, f"cannot alter {name}: error {error}"
    connection.close()


def led_partitions(connection: Connection, name: str) -> int:
    """How many partitions of the topic have a leader."""
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
    )
    body = connection.call(frame(request, METADATA_VERSION))
    topic = MetadataResponse.decode(body, METADATA_VERSION).topics[0]
    return sum(1 for p in topic.partitions if p.error_code == 0 and p.leader_id >= 0)


def check_produced(body: memoryview) -> None:
    """The record must be acknowledged, or the figure means nothing."""
    answer = ProduceResponse.decode(body[5:], PRODUCE_VERSION)
    code = answer.responses[0].partition_responses[0].error_code
    assert code == 0, f"the broker refused a batch: error {code}"


def fetch_error(body: memoryview) -> int:
    """The error of a fetch response of one partition."""
    return FetchResponse.decode(body, FETCH_VERSION).responses[0].partitions[0].error_code


def fetched_bytes(body: memoryview) -> int:
    """Bytes of records in a fetch response of one partition."""
    answer = FetchResponse.decode(body, FETCH_VERSION)
    partition = answer.responses[0].partitions[0]
    assert partition.error_code == 0, f"the broker refused a fetch: error {partition.error_code}"
    records = partition.records
    assert isinstance(records, memoryview)
    return len(records)
