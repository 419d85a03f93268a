"""A client that says on a socket exactly what it is told, and what a broker shows of itself."""

import http.client
import itertools
import re
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from protocol.crc32c import crc32c
from protocol.headers import decode_response_header, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from protocol.records.builder import build_batch
from protocol.records.record import Record
from protocol.schema.message import RESPONSES, Request
from pytest_tidelog.broker import Broker

PATIENCE_S = 20
PRODUCE_VERSION, FETCH_VERSION, LIST_OFFSETS_VERSION, API_VERSIONS_VERSION = 9, 12, 7, 3
LATEST = -1
CRC_POSITION, CHECKED_POSITION = 17, 21
T = TypeVar("T")


def frame(body: bytes) -> bytes:
    """A body with its size before it."""
    return struct.pack(">i", len(body)) + body


def encoded(request: Request, version: int, correlation_id: int = 1) -> bytes:
    """A whole frame."""
    return encode_request(request, version, correlation_id, "hostile")


class Wire:
    """One blocking connection."""

    def __init__(self, address: str, receive_buffer_bytes: int | None = None) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.socket()
        if receive_buffer_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.settimeout(PATIENCE_S)
        try:
            self.socket.connect((host, int(port)))
        except OSError:
            self.socket.close()
            raise
        self._correlation_ids = itertools.count(1)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_what_fits(self, data: bytes, quiet_s: float) -> int:
        """Send until nothing was taken for so long; how many bytes were."""
        view = memoryview(data)
        self.socket.settimeout(quiet_s)
        sent = 0
        try:
            while sent < len(view):
                sent += self.socket.send(view[sent : sent + (1 << 20)])
        except TimeoutError:
            pass
        finally:
            self.socket.settimeout(PATIENCE_S)
        return sent

    def receive(self, nbytes: int) -> bytes:
        """So many bytes; fewer when the broker closed."""
        received = bytearray()
        while len(received) < nbytes:
            try:
                piece = self.socket.recv(min(nbytes - len(received), 1 << 20))
            except ConnectionResetError:
                break
            if not piece:
                break
            received += piece
        return bytes(received)

    def receive_frame(self) -> bytes:
        head = self.receive(4)
        assert len(head) == 4, "the broker closed the connection"
        (size,) = struct.unpack(">i", head)
        body = self.receive(size)
        assert len(body) == size, "the broker closed the connection in an answer"
        return body

    def closed(self) -> bool:
        """Whether the broker ended the connection and sent nothing before."""
        return self.receive(1) == b""

    def ask(self, request: Request, version: int) -> Any:
        """The decoded answer."""
        correlation_id = next(self._correlation_ids)
        self.send(encoded(request, version, correlation_id))
        body = self.receive_frame()
        answered_id, at = decode_response_header(body, request.api_key, version)
        assert answered_id == correlation_id
        return RESPONSES[request.api_key].decode(body, version, at)

    def produce(
        self, topic: str, records: bytes | bytearray | None, acks: int = 1
    ) -> PartitionProduceResponse:
        """What became of one batch for partition 0."""
        answer = self.ask(produce_request(topic, records, acks), PRODUCE_VERSION)
        found: PartitionProduceResponse = answer.responses[0].partition_responses[0]
        return found

    def fetch(self, topic: str, offset: int, max_bytes: int = 1 << 20) -> PartitionData:
        """What a consumer gets of partition 0 at once."""
        answer = self.ask(fetch_request(topic, offset, max_bytes), FETCH_VERSION)
        found: PartitionData = answer.responses[0].partitions[0]
        return found

    def end_offset(self, topic: str) -> int:
        """Where consumers of partition 0 would wait for more."""
        wanted = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
        topics = [ListOffsetsTopic(name=topic, partitions=[wanted])]
        request = ListOffsetsRequest(replica_id=-1, topics=topics)
        answer = self.ask(request, LIST_OFFSETS_VERSION).topics[0].partitions[0]
        assert answer.error_code == 0
        return int(answer.offset)

    def ping(self) -> float:
        """Seconds until the smallest request is answered."""
        started = time.monotonic()
        request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        assert self.ask(request, API_VERSIONS_VERSION).error_code == 0
        return time.monotonic() - started


def produce_request(
    topic: str, records: bytes | bytearray | None, acks: int = 1, partition: int = 0
) -> ProduceRequest:
    view = None if records is None else memoryview(records)
    data = TopicProduceData(
        name=topic, partition_data=[PartitionProduceData(index=partition, records=view)]
    )
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[data])


def fetch_request(
    topic: str, offset: int, max_bytes: int = 1 << 20, max_wait_ms: int = 0
) -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def batch(*values: bytes, **fields: Any) -> bytearray:
    """A good batch of these values, but for what the fields say."""
    return build_batch([Record(0, now_ms(), b"key", value, []) for value in values], **fields)


def patched(data: bytearray, position: int, value: bytes, *, rehash: bool = True) -> bytearray:
    """The batch with some bytes replaced; its checksum made right again, or left."""
    data[position : position + len(value)] = value
    if rehash:
        checksum = crc32c(memoryview(data)[CHECKED_POSITION:])
        data[CRC_POSITION:CHECKED_POSITION] = checksum.to_bytes(4, "big")
    return data


def resident_bytes(broker: Broker) -> int:
    """The broker's resident memory now."""
    return _status(broker, "VmRSS")


def peak_bytes(broker: Broker) -> int:
    """The most memory that was resident since the broker began or `forget_peak`."""
    return _status(broker, "VmHWM")


def forget_peak(broker: Broker) -> None:
    """The peak is what is resident now."""
    Path(f"/proc/{broker.pid}/clear_refs").write_text("5")


def open_files(broker: Broker) -> int:
    """Descriptors the broker has open."""
    return len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))


def _status(broker: Broker, field: str) -> int:
    text = Path(f"/proc/{broker.pid}/status").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def metric(broker: Broker, name: str, labels: str = "") -> float:
    """A sample of the broker's metrics page; 0 where there is none yet."""
    connection = http.client.HTTPConnection(broker.ready["metrics"], timeout=PATIENCE_S)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    pattern = rf"^{name}{re.escape(labels)}(?:{{.*}})? ([0-9.e+-]+)$"
    return sum(float(value) for value in re.findall(pattern, page, re.MULTILINE))


def until(condition: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """Look until it is so, at most so long; what it was at last."""
    deadline = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
    return found
