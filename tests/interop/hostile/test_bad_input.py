"""Any bytes on the socket: Kafka's error code or a closed connection, and nobody else notices.

One broker takes all of it, one case after another. After each the log holds what it held, a second
client is served, and no handler has met a bug.
"""

import random
import socket
import struct
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.records.builder import build_batch
from protocol.records.compression import Codec, compress
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from protocol.records.record import Record
from pytest_tidelog.broker import Broker
from pytest_tidelog.client import create_topic
from runtime.disk import OsDisk
from storage.audit import audit_log_dir
from tests.interop.hostile.wire import (
    Wire,
    batch,
    encoded,
    forget_peak,
    frame,
    metric,
    now_ms,
    open_files,
    patched,
    peak_bytes,
    produce_request,
    resident_bytes,
    until,
)

TOPIC = "target"
NAME = attrgetter("name")
MOST_BYTES = 200 << 20
PRODUCE, METADATA, API_VERSIONS, VOTE = 0, 3, 18, 52


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    running = Broker(tmp_path_factory.mktemp("hostile") / "data").start()
    create_topic(running.bootstrap_servers, TOPIC)
    yield running
    log = running.log
    for failures in ("handler", "job"):
        assert metric(running, f"tidelog_{failures}_failures_total") == 0
    assert running.stop() == 0
    assert "Traceback" not in log
    assert audit_log_dir(OsDisk(), str(running.data_dir)) == []


@pytest.fixture(autouse=True)
def unharmed(broker: Broker) -> Iterator[None]:
    """What must be true after every case."""
    with Wire(broker.bootstrap_servers) as other:
        before = other.end_offset(TOPIC)
        yield
        end = other.end_offset(TOPIC)
        assert other.produce(TOPIC, batch(b"healthy")).base_offset == end
        found = other.fetch(TOPIC, end)
        assert found.error_code == 0
        assert isinstance(found.records, memoryview)
        assert b"healthy" in bytes(found.records)
    assert end >= before
    assert audit_log_dir(OsDisk(), str(broker.data_dir)) == []
    assert resident_bytes(broker) < MOST_BYTES


def request(api_key: int, version: int, body: bytes, client_id: bytes = b"x") -> bytes:
    """A frame with a header of the inflexible kind, made by hand."""
    return frame(struct.pack(">hhih", api_key, version, 7, len(client_id)) + client_id + body)


NOT_KAFKA = {
    "garbage": random.Random(1).randbytes(4096),
    "a negative size": struct.pack(">i", -1),
    "the most negative size": struct.pack(">i", -(2**31)) + bytes(100),
    "the largest size": struct.pack(">i", 2**31 - 1) + bytes(100),
    "one byte more than allowed": struct.pack(">i", 100 * 1024 * 1024 + 1),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(200),
    "an empty frame": frame(b""),
    "half a header": frame(b"\0\x03\0"),
    "a client id beyond the frame": frame(struct.pack(">hhih", METADATA, 1, 7, 1000)),
    "a client id of size -2": frame(struct.pack(">hhih", METADATA, 1, 7, -2)),
    "a client id that is not UTF-8": request(METADATA, 1, bytes(4), b"\xff\xfe"),
    "an unknown API": request(999, 0, b""),
    "a negative API": request(-5, 0, b""),
    "an API of controllers": request(VOTE, 0, b""),
    "a version too new": request(METADATA, 99, b""),
    "a negative version": request(METADATA, -1, b""),
    "a version advertised but not served": request(PRODUCE, 2, bytes(12)),
    "a body that ends early": request(METADATA, 1, b"\0\0"),
    "more items than bytes": request(METADATA, 1, struct.pack(">i", 2**31 - 1)),
    "a negative count": request(METADATA, 1, struct.pack(">i", -7)),
    "a name beyond the frame": request(METADATA, 1, struct.pack(">ih", 1, 500) + b"abc"),
    "a name of size -2": request(METADATA, 1, struct.pack(">ih", 1, -2)),
    "a name that is not UTF-8": request(METADATA, 1, struct.pack(">ih", 1, 2) + b"\xc3\x28"),
    "a surrogate in a name": request(METADATA, 1, struct.pack(">ih", 1, 3) + b"\xed\xa0\x80"),
    "an endless varint": frame(
        encode_request_header(METADATA, 12, 7, "x")[:-1] + b"\0" + b"\xff" * 40
    ),
    "more tags than bytes": frame(encode_request_header(METADATA, 12, 7, "x")[:-1] + b"\xfe\x7f"),
    "more items than a request may hold": encoded(
        MetadataRequest(topics=[MetadataRequestTopic(name="t")] * 250_000), 9
    ),
}


@pytest.mark.parametrize("data", NOT_KAFKA.values(), ids=NOT_KAFKA)
def test_what_is_no_request_closes_its_connection(broker: Broker, data: bytes) -> None:
    with Wire(broker.bootstrap_servers) as wire:
        wire.ping()
        wire.send(data)
        assert wire.closed()


def test_each_is_counted_and_what_was_only_cut_off_is_not(tmp_path: Path) -> None:
    broker = Broker(tmp_path).start()
    for data in (*NOT_KAFKA.values(), frame(bytes(100))[:50]):
        with Wire(broker.bootstrap_servers) as wire:
            wire.send(data)
            wire.socket.shutdown(socket.SHUT_WR)
            assert wire.closed()
    assert until(lambda: metric(broker, "tidelog_bad_frames_total")) == len(NOT_KAFKA)
    assert broker.stop() == 0


def test_garbage_is_told_in_one_line_each_and_not_without_end(broker: Broker) -> None:
    for _ in range(100):
        with Wire(broker.bootstrap_servers) as wire:
            wire.send(struct.pack(">i", -77))
            assert wire.closed()
    lines = [line for line in broker.log.splitlines() if "-77" in line]
    assert 1 <= len(lines) < 50


@pytest.mark.parametrize("size", [1, 3, 4, 5, 20, 100_000])
def test_a_frame_cut_off_is_dropped_without_a_word(broker: Broker, size: int) -> None:
    good = encoded(produce_request(TOPIC, batch(bytes(200_000))), 9)
    lines = broker.log
    before = open_files(broker)
    with Wire(broker.bootstrap_servers) as wire:
        wire.ping()
        wire.send(good[:size])
    until(lambda: open_files(broker) <= before)
    assert broker.log == lines


def test_an_unknown_version_of_api_versions_is_told_what_there_is(broker: Broker) -> None:
    with Wire(broker.bootstrap_servers) as wire:
        wire.send(request(API_VERSIONS, 99, b"\0\1\2"))
        body = wire.receive_frame()
        _, at = decode_response_header(body, API_VERSIONS, 0)
        answer = ApiVersionsResponse.decode(body, 0, at)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert answer.api_keys
        wire.ping()


def test_tags_nobody_knows_are_passed_over(broker: Broker) -> None:
    header = encode_request_header(METADATA, 12, 7, "x")[:-1] + b"\x01\x7f\x03abc"
    body = b"\x01" + b"\0\0" + b"\x01\x55\x02zz"  # no topics, two flags, an unknown tag
    with Wire(broker.bootstrap_servers) as wire:
        wire.send(frame(header + body))
        assert decode_response_header(wire.receive_frame(), METADATA, 12)[0] == 7


def squeezed(codec: Codec, payload: bytes, count: int = 1) -> bytearray:
    """A batch whose records are this payload, compressed."""
    shell = build_batch([], last_offset_delta=count - 1)
    body = compress(codec, payload)
    shell += body
    shell[8:12] = (len(shell) - 12).to_bytes(4, "big")
    shell[27:43] = struct.pack(">qq", now_ms(), now_ms())
    return patched(patched(shell, 57, struct.pack(">i", count)), 21, struct.pack(">h", codec))


def one_record(data: bytearray, payload: bytes) -> bytearray:
    """The batch with other bytes where its records are."""
    shell = data[:61] + payload
    shell[8:12] = (len(shell) - 12).to_bytes(4, "big")
    return patched(shell, 21, b"\0\0")


def late(offset_ms: int) -> bytearray:
    return build_batch([Record(0, now_ms() + offset_ms, None, b"x", [])])


DAY_MS = 24 * 3600 * 1000
BAD_BATCHES: dict[str, tuple[Callable[[], bytes | bytearray | None], ErrorCode]] = {
    "no records": (lambda: None, ErrorCode.INVALID_RECORD),
    "empty records": (lambda: b"", ErrorCode.INVALID_RECORD),
    "garbage": (lambda: random.Random(2).randbytes(500), ErrorCode.CORRUPT_MESSAGE),
    "two batches": (lambda: batch(b"a") + batch(b"b"), ErrorCode.INVALID_RECORD),
    "half a batch": (lambda: batch(b"a" * 200)[:150], ErrorCode.INVALID_RECORD),
    "a header alone": (lambda: batch(b"a" * 200)[:61], ErrorCode.INVALID_RECORD),
    "magic 0": (lambda: patched(batch(b"a"), 16, b"\0"), ErrorCode.INVALID_RECORD),
    "magic 1": (lambda: patched(batch(b"a"), 16, b"\1"), ErrorCode.INVALID_RECORD),
    "magic 3": (lambda: patched(batch(b"a"), 16, b"\3"), ErrorCode.CORRUPT_MESSAGE),
    "magic -1": (lambda: patched(batch(b"a"), 16, b"\xff"), ErrorCode.CORRUPT_MESSAGE),
    "a wrong checksum": (
        lambda: patched(batch(b"a"), 70, b"\7", rehash=False),
        ErrorCode.CORRUPT_MESSAGE,
    ),
    "a negative batch length": (
        lambda: patched(batch(b"a"), 8, b"\xff\xff\xff\xff"),
        ErrorCode.CORRUPT_MESSAGE,
    ),
    "a batch length of 0": (lambda: patched(batch(b"a"), 8, bytes(4)), ErrorCode.CORRUPT_MESSAGE),
    "a batch shorter than its header": (
        lambda: patched(batch(b"a"), 8, b"\0\0\0\x20"),
        ErrorCode.CORRUPT_MESSAGE,
    ),
    "a base offset": (
        lambda: patched(batch(b"a"), 0, struct.pack(">q", 5)),
        ErrorCode.INVALID_RECORD,
    ),
    "a negative base offset": (
        lambda: patched(batch(b"a"), 0, struct.pack(">q", -5)),
        ErrorCode.INVALID_RECORD,
    ),
    "no record in a batch": (lambda: build_batch([]), ErrorCode.INVALID_RECORD),
    "fewer records than declared": (
        lambda: patched(patched(batch(b"a"), 57, struct.pack(">i", 9)), 23, struct.pack(">i", 8)),
        ErrorCode.INVALID_RECORD,
    ),
    "two thousand million records": (
        lambda: patched(
            patched(batch(b"a"), 57, struct.pack(">i", 2**31 - 1)), 23, struct.pack(">i", 2**31 - 2)
        ),
        ErrorCode.INVALID_RECORD,
    ),
    "a negative record count": (
        lambda: patched(batch(b"a"), 57, struct.pack(">i", -1)),
        ErrorCode.INVALID_RECORD,
    ),
    "offsets that do not fit the count": (
        lambda: patched(batch(b"a"), 23, struct.pack(">i", 5)),
        ErrorCode.INVALID_RECORD,
    ),
    "more bytes than records": (
        lambda: patched(batch(b"a", b"b"), 57, struct.pack(">i", 1)),
        ErrorCode.INVALID_RECORD,
    ),
    "a record beyond the batch": (
        lambda: one_record(batch(b"a"), b"\xfe\x7f\0\0\0\1\1\0"),
        ErrorCode.INVALID_RECORD,
    ),
    "an endless varint": (
        lambda: one_record(batch(b"a"), b"\xff" * 50),
        ErrorCode.INVALID_RECORD,
    ),
    "a key of size -2": (
        lambda: one_record(batch(b"a"), b"\x0c\0\0\0\3\1\0"),
        ErrorCode.INVALID_RECORD,
    ),
    "a million headers": (
        lambda: one_record(batch(b"a"), b"\x10\0\0\0\1\1\x80\x89\x7a"),
        ErrorCode.INVALID_RECORD,
    ),
    "a control batch": (
        lambda: batch(b"a", is_control=True),
        ErrorCode.INVALID_RECORD,
    ),
    "a transaction's marker": (
        lambda: build_end_transaction_marker(
            EndTransactionMarker(True, 0),
            producer_id=5,
            producer_epoch=0,
            timestamp=now_ms(),
            base_offset=0,
            leader_epoch=0,
        ),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    "a transactional batch of nobody": (
        lambda: batch(
            b"a", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True
        ),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    "a producer without a sequence": (
        lambda: batch(b"a", producer_id=5, producer_epoch=0, base_sequence=-1),
        ErrorCode.INVALID_RECORD,
    ),
    "a codec that does not exist": (
        lambda: patched(batch(b"a"), 21, b"\0\5"),
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ),
    "larger than allowed": (lambda: batch(bytes(1_100_000)), ErrorCode.MESSAGE_TOO_LARGE),
    "a time two days ahead": (lambda: late(2 * DAY_MS), ErrorCode.INVALID_TIMESTAMP),
    "the last of all times": (
        lambda: build_batch([Record(0, 2**63 - 1, None, b"x", [])]),
        ErrorCode.INVALID_TIMESTAMP,
    ),
    "a time beyond 64 bits": (
        lambda: one_record(
            build_batch([Record(0, 2**63 - 1, None, b"", [])]), b"\x0e\0\2\0\1\1\0\0"
        ),
        ErrorCode.INVALID_RECORD,
    ),
}


@pytest.mark.parametrize(("make", "code"), BAD_BATCHES.values(), ids=BAD_BATCHES)
def test_a_bad_batch_gets_its_code_and_leaves_no_byte(
    broker: Broker, make: Callable[[], bytes | bytearray | None], code: ErrorCode
) -> None:
    log = broker.data_dir / f"{TOPIC}-0" / f"{0:020}.log"
    before = log.stat().st_size
    with Wire(broker.bootstrap_servers) as wire:
        answer = wire.produce(TOPIC, make())
        assert ErrorCode(answer.error_code) is code
        assert answer.base_offset == -1
        assert log.stat().st_size == before
        # The same connection goes on, unless the producer asked for no answer.
        wire.ping()
        wire.send(encoded(produce_request(TOPIC, make(), acks=0), 9))
        assert wire.closed()
    assert log.stat().st_size == before


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=NAME)
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "not the codec's"])
def test_damaged_compression_is_corrupt(broker: Broker, codec: Codec, damage: str) -> None:
    good = squeezed(codec, bytes(batch(random.Random(3).randbytes(3000))[61:]))
    bad = {
        "cut": good[: len(good) // 2],
        "flipped": good[:80] + bytes(byte ^ 0xFF for byte in good[80:120]) + good[120:],
        "empty": good[:61],
        "not the codec's": good[:61] + b"no codec wrote this",
    }[damage]
    bad[8:12] = (len(bad) - 12).to_bytes(4, "big")
    with Wire(broker.bootstrap_servers) as wire:
        answer = wire.produce(TOPIC, patched(bad, 21, struct.pack(">h", codec)))
        assert answer.error_code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)
        assert wire.produce(TOPIC, good).error_code == 0


BOMBS = {
    Codec.GZIP: lambda: squeezed(Codec.GZIP, bytes(100_000_000)),
    Codec.SNAPPY: lambda: squeezed(Codec.SNAPPY, bytes(17_000_000)),
    Codec.LZ4: lambda: squeezed(Codec.LZ4, bytes(100_000_000)),
    Codec.ZSTD: lambda: squeezed(Codec.ZSTD, bytes(200_000_000)),
}


@pytest.mark.parametrize("codec", BOMBS, ids=NAME)
def test_compression_bombs_at_once_are_refused_in_little_memory(
    broker: Broker, codec: Codec
) -> None:
    bomb = encoded(produce_request(TOPIC, BOMBS[codec]()), 9)
    forget_peak(broker)
    before = resident_bytes(broker)
    wires = [Wire(broker.bootstrap_servers) for _ in range(8)]
    with Wire(broker.bootstrap_servers) as other:
        end = other.end_offset(TOPIC)
        for wire in wires:
            wire.send(bomb)
        assert other.ping() < 2
        for wire in wires:
            wire.receive_frame()
            wire.ping()
            wire.socket.close()
        assert other.end_offset(TOPIC) == end
    # Two unfold at a time, to 64 MiB each; what they had in hand is given back.
    assert peak_bytes(broker) < before + (300 << 20)
    assert until(lambda: resident_bytes(broker) < before + (100 << 20))


def test_millions_of_records_in_a_few_bytes_cost_little(broker: Broker) -> None:
    """All with one offset: to put them right, each would become an object."""
    count = 8_000_000
    forget_peak(broker)
    before = resident_bytes(broker)
    with Wire(broker.bootstrap_servers) as wire:
        answer = wire.produce(
            TOPIC, squeezed(Codec.ZSTD, bytes([12, 0, 0, 0, 1, 1, 0]) * count, count)
        )
        assert answer.error_code == ErrorCode.INVALID_RECORD
    assert peak_bytes(broker) < before + (200 << 20)


def test_sequences_are_held_to_and_duplicates_answered_as_before(broker: Broker) -> None:
    def sent(sequence: int, epoch: int = 0) -> bytearray:
        return batch(b"a", b"b", producer_id=77, producer_epoch=epoch, base_sequence=sequence)

    with Wire(broker.bootstrap_servers) as wire:
        first = wire.produce(TOPIC, sent(0), acks=-1)
        second = wire.produce(TOPIC, sent(2), acks=-1)
        assert (first.error_code, second.error_code) == (0, 0)
        end = wire.end_offset(TOPIC)
        again = wire.produce(TOPIC, sent(0), acks=-1)
        assert (again.error_code, again.base_offset) == (0, first.base_offset)
        for sequence, epoch, code in [
            (6, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            (1, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            (3, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            (2**31 - 1, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ]:
            assert wire.produce(TOPIC, sent(sequence, epoch)).error_code == code
        assert wire.end_offset(TOPIC) == end
        assert wire.produce(TOPIC, sent(0, epoch=1)).error_code == 0
        assert wire.produce(TOPIC, sent(4)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("acks", [7, 2, -2, 32767, -32768])
def test_acks_that_mean_nothing_are_refused(broker: Broker, acks: int) -> None:
    with Wire(broker.bootstrap_servers) as wire:
        answer = wire.produce(TOPIC, batch(b"a"), acks)
        assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS


GARBAGE_NAMES = ["", ".", "..", "../../etc/passwd", "a b", "\0", "ü", "x" * 250, "x" * 30_000, "\n"]


@pytest.mark.parametrize("name", GARBAGE_NAMES, ids=range(len(GARBAGE_NAMES)))
def test_a_topic_name_of_garbage_makes_nothing(broker: Broker, name: str) -> None:
    def everything() -> list[Path]:
        return sorted(broker.data_dir.parent.rglob("*"))

    before = everything()
    with Wire(broker.bootstrap_servers) as wire:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        topic = wire.ask(asked, 9).topics[0]
        assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        answer = wire.produce(name, batch(b"a"))
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert wire.ask(asked, 9).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert everything() == before


@pytest.mark.parametrize("partition", [-1, 1, 2**31 - 1, -(2**31)])
def test_a_partition_that_does_not_exist_is_unknown(broker: Broker, partition: int) -> None:
    with Wire(broker.bootstrap_servers) as wire:
        request = produce_request(TOPIC, batch(b"a"), partition=partition)
        answer = wire.ask(request, 9).responses[0].partition_responses[0]
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("offset", [-1, -2, -(2**63), 10**6, 2**63 - 1])
def test_an_offset_outside_the_log_is_out_of_range(broker: Broker, offset: int) -> None:
    with Wire(broker.bootstrap_servers) as wire:
        assert wire.fetch(TOPIC, offset).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("max_bytes", [0, -1, -(2**31), 2**31 - 1])
def test_any_limit_on_a_fetch_is_survived(broker: Broker, max_bytes: int) -> None:
    with Wire(broker.bootstrap_servers) as wire:
        assert wire.produce(TOPIC, batch(b"a")).error_code == 0
        found = wire.fetch(TOPIC, 0, max_bytes)
        assert found.error_code == 0
        assert found.records
