"""Coverage-guided fuzzing of everything that reads bytes other people wrote: `make fuzz`.

The invariant of every target: only MalformedFrame, FrameSizeError, KafkaError, CorruptFileError,
InvalidIndexOffsetError, MalformedMetrics and ConfigError leave a reader, whatever the bytes; memory
stays bounded (an address space limit makes anything else a MemoryError); and what can be decoded
can be encoded and decoded to the same again, alike in the compiled and the uncompiled record
kernel.

    python -m tests.fuzz_decoders --seconds 60               all targets, one a processor
    python -m tests.fuzz_decoders --target requests FILE     one input again, with its traceback

Each target is a process of its own under atheris (libFuzzer), seeded from what clients and Kafka
wrote (`tests/golden`). Codecs compiled from declarations are instrumented as they are made. An
input that breaks the invariant is kept in `build/fuzz/` and named in the output.
"""

import argparse
import json
import lzma
import os
import re
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any, NamedTuple

from broker.network.frames import SMALL_FRAME, FrameDecoder, FrameSizeError
from broker.telemetry.otlp import MalformedMetrics, MetricsReader
from config.definition import ConfigError
from config.loading import load
from config.properties import MalformedEscape, parse_properties
from protocol.crc32c import crc32c
from protocol.errors import KafkaError, MalformedFrame
from protocol.headers import decode_request_header, encode_request_header
from protocol.model import TopicPartition
from protocol.records import compression
from protocol.records.batch import HEADER_SIZE, iterate_batches
from protocol.records.builder import build_batch
from protocol.records.record import Record, encode_record
from protocol.schema import compiler
from protocol.schema.describe import import_all
from protocol.schema.message import REQUESTS, RESPONSES, Message
from storage import filenames, log_dirs
from storage.checkpoints import OffsetCheckpoint
from storage.epochs import LeaderEpochCache
from storage.errors import CorruptFileError, InvalidIndexOffsetError
from storage.partition_metadata import read_topic_id
from storage.producer.snapshot import decode_snapshot, encode_snapshot
from storage.producer.state import ProducerState
from storage.segment.file_records import FilePool
from storage.segment.file_set import SegmentFiles, SegmentSettings
from storage.segment.recovery import recover_segment
from storage.segment.segment import Segment
from tests.support import golden_batches, kernels, telemetry
from tests.support.fault_disk import FaultDisk

ROOT = Path(__file__).parent.parent
FINDINGS = ROOT / "build" / "fuzz"
WIRE = Path(__file__).parent / "golden" / "wire.jsonl.xz"
MORE_ADDRESS_SPACE = 1 << 30
OUTPUT_LIMIT = 1 << 20
MAX_INPUT = 1 << 13
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
MOST_RECORDS = 1 << 12
MOST_FIELDS = 1 << 12


class Target(NamedTuple):
    """Something that reads bytes, and bytes it is known to read."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]


# Requests and responses: a frame without its size; int16 key, int16 version, body.


def decode_request(data: bytes) -> None:
    try:
        header = decode_request_header(data)
        request = REQUESTS.get(header.api_key)
        if request is None or header.api_version not in request.valid_versions:
            return
        message = request.decode(data, header.api_version, header.body_offset)
    except MalformedFrame:
        return
    encode_again(message, header.api_version)


def decode_response(data: bytes) -> None:
    if len(data) < 4:
        return
    key, version = struct.unpack_from(">hh", data)
    response = RESPONSES.get(key)
    if response is None or version not in response.valid_versions:
        return
    try:
        message = response.decode(data, version, 4)
    except MalformedFrame:
        return
    encode_again(message, version)


def encode_again(message: Message, version: int) -> None:
    again = message.encode(version)
    same = type(message).decode(again, version)
    # Compared by bytes: a NaN is not equal to itself.
    assert same.encode(version) == again


def wire_examples() -> Iterator[dict[str, Any]]:
    with lzma.open(WIRE, "rt") as lines:
        yield from map(json.loads, lines)


def request_seeds() -> Iterator[bytes]:
    for example in wire_examples():
        yield bytes.fromhex(example["request"])
    for key, request in REQUESTS.items():
        for version in request.valid_versions:
            message = filled(request, version)
            yield encode_request_header(key, version, 1, "fuzz") + message.encode(version)


def response_seeds() -> Iterator[bytes]:
    for key, response in RESPONSES.items():
        for version in response.valid_versions:
            yield struct.pack(">hh", key, version) + filled(response, version).encode(version)


def filled(cls: type[Message], version: int) -> Message:
    """A message with one item in each of its arrays, defaults elsewhere."""
    message = cls()
    for field in cls.__fields__:
        if not field.in_version(version):
            continue
        if field.makes_struct:
            setattr(message, field.name, filled(field.of, version))
        elif field.makes_list:
            scalar = {"string": "a", "uuid": bytes(16)}
            item = (
                scalar.get(field.of, 1) if isinstance(field.of, str) else filled(field.of, version)
            )
            setattr(message, field.name, [item])
    return message


# Record batches: as in a log, or with their lengths and checksums made right first.


def read_batches(data: bytes) -> None:
    if not data:
        return
    batches = bytearray(data[1:])
    if data[0] & 1:
        mend(batches)
    try:
        for batch in iterate_batches(batches):
            batch.crc_ok()
            payload = batch.decompressed(OUTPUT_LIMIT)
            assert len(payload) <= max(OUTPUT_LIMIT, len(batches))
            batch.records(OUTPUT_LIMIT)
    except KafkaError:
        pass


def mend(batches: bytearray) -> None:
    """Make the first batch span the buffer and its checksum right, so that more than one byte of
    it can be wrong."""
    if len(batches) >= HEADER_SIZE:
        struct.pack_into(">i", batches, 8, len(batches) - 12)
        batches[16] = 2
        struct.pack_into(">I", batches, 17, crc32c(memoryview(batches)[21:]))


def batch_seeds() -> Iterator[bytes]:
    for topic in (*golden_batches.UNCOMPRESSED, *golden_batches.COMPRESSED):
        for batch in golden_batches.batches(topic)[:3]:
            yield b"\1" + bytes(batch.view[:MAX_INPUT])
    for codec in range(5):
        yield b"\1" + bytes(
            build_batch([Record(0, 1, b"k", b"v" * 50, [("h", None)])], codec=codec)
        )


def walk_records(data: bytes) -> None:
    """i64 base timestamp, i16 count, payload: both kernels agree on what they say of it."""
    if len(data) < 10:
        return
    base, count = struct.unpack_from(">qh", data)
    payload = data[10:]
    outcomes = []
    for kernel in kernels.both:
        for check_keys in (False, True):
            bounds = (base - 5, base + 5) if check_keys else (INT64_MIN, INT64_MAX)
            bounds = (max(bounds[0], INT64_MIN), min(bounds[1], INT64_MAX))
            outcomes.append(
                outcome(kernel.validate_records, payload, count, base, check_keys, *bounds)
            )
        outcomes.append(outcome(kernel.decode_records, payload, 1 << 40, base, count, None))
    half = len(outcomes) // len(kernels.both)
    assert outcomes[:half] == outcomes[-half:]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except KafkaError as error:
        return str(error)


def record_seeds() -> Iterator[bytes]:
    many = [
        encode_record(delta, 7 * delta, key, b"v" * size, [("header", key)])
        for delta, (key, size) in enumerate([(b"key", 5), (None, 0), (b"", 200)])
    ]
    yield struct.pack(">qh", 1_700_000_000_000, 3) + b"".join(many)
    yield struct.pack(">qh", -1, 1) + many[0]
    yield struct.pack(">qh", INT64_MAX, 1) + encode_record(0, INT64_MIN, None, None, [])


def unfold(data: bytes) -> None:
    if not data:
        return
    try:
        assert len(compression.decompress(data[0] % 6, data[1:], OUTPUT_LIMIT)) <= OUTPUT_LIMIT
    except KafkaError:
        pass


def compressed_seeds() -> Iterator[bytes]:
    text = bytes(range(256)) * 4 + b"tidelog " * 200
    for codec in range(1, 5):
        for body in (b"", text, bytes(2 * OUTPUT_LIMIT)):
            yield bytes([codec]) + compression.compress(codec, body)


# Frames: what arrives in pieces of any size is what was sent, and little memory is held.


def cut_frames(data: bytes) -> None:
    """u8 piece size, u8 limit exponent, stream."""
    if len(data) < 2:
        return
    piece, limit, stream = data[0] + 1, 1 << data[1] % 24, data[2:]
    wanted, wrong = frames_of(stream, limit)
    decoder, shared = FrameDecoder(limit), memoryview(bytearray(SMALL_FRAME + 1024))
    got: list[bytes] = []
    position = 0
    try:
        while position < len(stream):
            if decoder.needs_room:
                decoder.grow(1 << 20)
            size = 0
            for target in decoder.targets(shared):
                part = stream[position : position + min(piece - size, len(target))]
                target[: len(part)] = part
                position += len(part)
                size += len(part)
            decoder.received(shared, size)
            while (frame := decoder.next_frame()) is not None:
                got.append(bytes(frame))
            while decoder.suspend(1 << 20):
                while (frame := decoder.next_frame()) is not None:
                    got.append(bytes(frame))
            assert decoder.held <= 20 * (len(stream) + 1024)
    except FrameSizeError:
        assert wrong
    assert got == wanted[: len(got)]
    assert len(got) == len(wanted)


def frames_of(stream: bytes, limit: int) -> tuple[list[bytes], bool]:
    """The whole frames of a stream up to the first impossible size, and whether there is one."""
    frames: list[bytes] = []
    position = 0
    while len(stream) - position >= 4:
        (size,) = struct.unpack_from(">i", stream, position)
        if not 0 <= size <= limit:
            return frames, True
        if size > len(stream) - position - 4:
            break
        frames.append(stream[position + 4 : position + 4 + size])
        position += 4 + size
    return frames, False


def frame_seeds() -> Iterator[bytes]:
    for piece in (1, 7, 255):
        sizes = (0, 1, 300, 5000)
        stream = b"".join(struct.pack(">i", size) + bytes(size) for size in sizes)
        yield bytes([piece, 23]) + stream
        yield bytes([piece, 9]) + stream


# Settings.


def read_settings(data: bytes) -> None:
    try:
        properties = parse_properties(data.decode("latin-1"))
    except MalformedEscape:
        return
    try:
        load(None, {}, {key: value for key, value, _ in properties})
    except ConfigError:
        pass


def settings_seeds() -> Iterator[bytes]:
    yield b"# comment\nlog.dirs=/tmp/a\nlisteners=PLAINTEXT://a:9092\nlog.retention.ms = 5\n"
    yield b"num.partitions:3\nlog.cleanup.policy compact,delete\nlog.roll.hours=\\u0031\\\n  2\n"
    yield b"advertised.listeners=A://[::1]:1,B://:2\nlistener.security.protocol.map=A:SSL,B:SSL"
    yield b"log.cleaner.min.cleanable.ratio=0.5\nsasl.jaas.config=x\ncompression.type=zstd\nx=\ty"


# Files of a log directory: u8 kind, content.


def read_file(data: bytes) -> None:
    if not data:
        return
    disk, content = FaultDisk(), data[1:]
    disk.makedirs("d")
    reader, name = FILES[data[0] % len(FILES)]
    disk.write_file(f"d/{name}", content)
    try:
        reader(disk)
    except CorruptFileError:
        pass


def _snapshot(disk: FaultDisk) -> None:
    content = disk.read_file("d/snapshot")
    if len(content) >= 6:
        content = content[:2] + crc32c(content[6:]).to_bytes(4, "big") + content[6:]
    producers = decode_snapshot("snapshot", content)
    decode_snapshot("snapshot", encode_snapshot(producers))


FILES: tuple[tuple[Callable[[FaultDisk], object], str], ...] = (
    (lambda disk: OffsetCheckpoint(disk, "d", "o").read(), "o"),
    (lambda disk: LeaderEpochCache(disk, "d").load(), filenames.LEADER_EPOCH_CHECKPOINT),
    (lambda disk: read_topic_id(disk, "d"), filenames.PARTITION_METADATA_FILE),
    (lambda disk: log_dirs.read_meta_properties(disk, "d"), filenames.META_PROPERTIES_FILE),
    (lambda disk: log_dirs.take_clean_shutdown_mark(disk, "d"), filenames.CLEAN_SHUTDOWN_FILE),
    (_snapshot, "snapshot"),
)


def file_seeds() -> Iterator[bytes]:
    yield b"\0" + b"0\n2\norders 0 1500\norders 1 1498\n"
    yield b"\1" + b"0\n2\n0 0\n3 500\n"
    yield b"\2" + b"version: 0\ntopic_id: 4rksbjtcQjaJx41Svz72OA"
    yield (
        b"\3"
        + b"#\n#Sat\nnode.id=1\ndirectory.id=kzEWHiXdTWWGvVF1d5aJDw\nversion=1\ncluster.id=a\n"
    )
    yield b"\4" + b'{"version":0,"brokerEpoch":16}'
    yield b"\5" + struct.pack(">hIiqhiqiqiq", 1, 0, 1, 5, 0, 9, 9, 9, 1_700_000_000_000, -1, -1)


# Segments: u16 sizes of .index and .timeindex, then .index, .timeindex, .txnindex or .log.


def open_segment(data: bytes) -> None:
    """A segment whose indexes or log hold anything: it is read, recovered, and read again."""
    if len(data) < 5:
        return
    flags, *sizes = struct.unpack_from(">BHH", data)
    index, times, rest = split(data[5:], sizes)
    log, transactions = (GOOD_LOG, rest) if flags & 1 else (rest, b"")
    disk = FaultDisk()
    disk.makedirs("d")
    for kind, content in (
        (filenames.LOG, log),
        (filenames.OFFSET_INDEX, index),
        (filenames.TIME_INDEX, times),
        (filenames.TRANSACTION_INDEX, transactions),
    ):
        disk.write_file(filenames.segment_path("d", 0, kind), content)
    files = SegmentFiles(disk, FilePool(10))
    segment = Segment.open(files, "d", 0, SegmentSettings(64, 4096), 0, existing=True)
    typed(segment.sanity_check)
    typed(read_segment, segment)
    segment.close_files()
    producers = ProducerState(disk, "d", TopicPartition("t", 0))
    epochs = LeaderEpochCache(disk, "d")
    segment = Segment.open(files, "d", 0, SegmentSettings(64, 4096), 0, existing=True)
    recover_segment(disk, segment, producers, epochs)
    read_segment(segment)
    segment.close_files()


def split(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data


def read_segment(segment: Segment) -> None:
    segment.read_next_offset()
    for offset in (0, 1, 5, 1 << 40):
        found = segment.read(offset, 100, segment.size, True)
        if found is not None and found[0] is not None:
            found[0].read()
            found[0].release()
        for timestamp in (-1, 5, 1 << 41):
            segment.find_offset_by_timestamp(timestamp, offset)
    for count, batch in enumerate(segment.scan_batches(0)):
        typed(batch.records, OUTPUT_LIMIT)
        if count > 100:
            break
    segment.first_batch_timestamp()
    _ = segment.max_timestamp_so_far
    segment.transaction_index.collect(0, 10)


def typed(function: Callable[..., object], *arguments: object) -> None:
    """Call it; what damaged files may raise is well."""
    try:
        function(*arguments)
    except (KafkaError, CorruptFileError, InvalidIndexOffsetError):
        pass


GOOD_LOG = b"".join(
    build_batch(
        [Record(offset, 1_700_000_000_000 + offset, None, b"v" * 40, [])], base_offset=offset
    )
    for offset in range(8)
)


def segment_seeds() -> Iterator[bytes]:
    size = len(GOOD_LOG) // 8
    index = b"".join(struct.pack(">ii", offset, offset * size) for offset in (2, 5))
    times = b"".join(struct.pack(">qi", 1_700_000_000_000 + offset, offset) for offset in (2, 7))
    header = struct.pack(">HH", len(index), len(times))
    yield b"\1" + header + index + times + struct.pack(">hqqqq", 0, 1, 0, 3, 4)
    yield b"\0" + header + index + times + GOOD_LOG


# Metrics that clients push.


def read_metrics(data: bytes) -> None:
    """No more points than fields that may be looked at, each of which Prometheus could show."""
    reader = MetricsReader(data, MOST_FIELDS)
    try:
        points = list(reader.points())
    except MalformedMetrics:
        return
    assert len(points) <= MOST_FIELDS
    for point in points:
        assert isinstance(point.value, float)
        point.name.encode()


def metrics_seeds() -> Iterator[bytes]:
    one = telemetry.gauge("g", 1.5, {"topic": "t"})
    two = telemetry.total("c", 3, is_delta=True, labels={"k": "v"})
    yield telemetry.metrics(one, two, resource={"group_id": "g"})
    point = telemetry.fixed(4, 3) + telemetry.field(5, 4.5)
    for kind in (9, 10, 11):
        histogram = telemetry.field(1, "h") + telemetry.field(kind, telemetry.field(1, point))
        yield telemetry.metrics(histogram)


TARGETS = {
    "requests": Target(decode_request, request_seeds),
    "responses": Target(decode_response, response_seeds),
    "batches": Target(read_batches, batch_seeds),
    "records": Target(walk_records, record_seeds),
    "compression": Target(unfold, compressed_seeds),
    "frames": Target(cut_frames, frame_seeds),
    "settings": Target(read_settings, settings_seeds),
    "files": Target(read_file, file_seeds),
    "segments": Target(open_segment, segment_seeds),
    "metrics": Target(read_metrics, metrics_seeds),
}


# Running them.


def instrument() -> None:
    """Let libFuzzer see branches of our packages, and of codecs as they are compiled."""
    import atheris

    compile_source = compiler._execute

    def execute(*arguments: Any) -> Any:
        return atheris.instrument_func(compile_source(*arguments))

    setattr(compiler, "_execute", execute)  # noqa: B010 (mypy knows the function it replaces)
    roots = ("protocol", "broker", "config", "storage", "uncompiled_kernel")
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in roots:
            instrument_module(module)
    instrument_module(kernels.uncompiled)


def instrument_module(module: object) -> None:
    import atheris

    for value in list(vars(module).values()):
        if isinstance(value, FunctionType) and value.__module__ == getattr(module, "__name__", ""):
            atheris.instrument_func(value)
        elif isinstance(value, type) and value.__module__ == getattr(module, "__name__", ""):
            for method in vars(value).values():
                function = getattr(method, "__func__", None) or getattr(method, "fget", method)
                if isinstance(function, FunctionType):
                    atheris.instrument_func(function)


def limit_memory() -> None:
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    limit = used + MORE_ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def fuzz(name: str, seconds: int) -> None:
    """Run one target in this process; does not return."""
    import atheris

    target = TARGETS[name]
    FINDINGS.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        for number, seed in enumerate(target.seeds()):
            (Path(folder) / str(number)).write_bytes(seed)
        instrument()
        limit_memory()
        options = [f"-max_total_time={seconds}", f"-max_len={MAX_INPUT}", "-timeout=10"]
        options += [
            f"-artifact_prefix={FINDINGS}/{name}-",
            "-print_final_stats=1",
            "-use_value_profile=1",
        ]
        atheris.Setup([sys.argv[0], *options, folder], target.run)
        atheris.Fuzz()


def fuzz_apart(name: str, seconds: int) -> bool:
    """Run one target in a process of its own, print its figures or its failure; whether it held."""
    command = [sys.executable, "-m", "tests.fuzz_decoders", "--target", name]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    text = done.stdout + done.stderr
    runs = re.findall(r"number_of_executed_units: *(\d+)", text)
    covered = re.findall(r"cov: (\d+)", text)
    held = done.returncode == 0 and bool(runs)
    print(
        f"{name:<12} {runs[-1] if runs else '?':>9} inputs  coverage {(covered or ['?'])[-1]:>5}  "
        f"{'held' if held else 'FAILED'}",
        flush=True,
    )
    if not held:
        print(text[-4000:])
        print(
            f"again: python -m tests.fuzz_decoders --target {name} build/fuzz/{name}-…", flush=True
        )
    return held


def main() -> int:
    """Fuzz all targets, or one, or try one input; 0 if the invariant held."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", choices=TARGETS, help="this one only, in this process")
    parser.add_argument("file", nargs="?", type=Path, help="an input to try once")
    arguments = parser.parse_args()
    import_all()
    if arguments.file is not None:
        TARGETS[arguments.target].run(arguments.file.read_bytes())
        return 0
    if arguments.target is not None:
        fuzz(arguments.target, arguments.seconds)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        held = list(pool.map(lambda name: fuzz_apart(name, arguments.seconds), TARGETS))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
