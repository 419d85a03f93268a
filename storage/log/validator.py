"""What a leader checks and rewrites in a batch before it takes it.

Order as in UnifiedLog.analyzeAndValidateRecords and LogValidator (Kafka 4.3), each with its code:

    shallow   one whole v2 batch                INVALID_RECORD, CORRUPT_MESSAGE if it is none
              base offset is 0 (clients only)   INVALID_RECORD
              max.message.bytes                 MESSAGE_TOO_LARGE, before hashing that much
              CRC                               CORRUPT_MESSAGE
    deep      counts, no control, sequence set  INVALID_RECORD
              records fill just the payload     INVALID_RECORD
              key on a compacted topic          INVALID_RECORD per record
              timestamp in range                INVALID_TIMESTAMP per record; wins over the other
    rewrite   timestamp type, max timestamp     hashed again only where they differ
              whole batch                       where compression.type names another codec, or inner
                                                offsets are not 0..n-1; its size is checked again
              larger than a segment             RECORD_LIST_TOO_LARGE

`prepare()` touches nothing but the buffer it is given, so any thread may run it. Offsets are
assigned later. The buffer is only borrowed: a `Prepared` must not outlive it.

Compressed batches are decompressed under a limit, for one MiB may unfold to gigabytes:

    output_limit()     bounds the memory one batch may cost: 64 MiB, or 16 x max.message.bytes where
                       that is more. Producers fill batches by uncompressed size; real data stays
                       below 20 : 1.
    LOOP_OUTPUT_LIMIT  bounds the time the loop gives one batch: 1 MiB is 1-3 ms of gzip, the
                       slowest codec.
    LOOP_INPUT_LIMIT   sends a batch to a worker by its size alone: at 4 : 1 it would meet the limit
                       anyway.
"""

from collections.abc import Sequence
from typing import Final

from config.topic_config import LogConfig
from protocol.crc32c import crc32c
from protocol.errors import ErrorCode, KafkaError
from protocol.model import NO_TIMESTAMP
from protocol.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    Buffer,
    RecordBatch,
    peek_header,
)
from protocol.records.errors import CorruptBatch, DecompressedTooLarge
from protocol.records.kernel import KEY_MISSING, decode_records, validate_records
from protocol.records.record import encode_record
from storage.log.results import InvalidRecords, Origin

LOOP_INPUT_LIMIT: Final = 256 * 1024
LOOP_OUTPUT_LIMIT: Final = 1024 * 1024
OUTPUT_LIMIT: Final = 64 * 1024 * 1024
OUTPUT_RATIO: Final = 16
MOST_ERRORS_SHOWN: Final = 3
MOST_RENUMBERED: Final = 50_000
LENGTH_POSITION: Final = 8
CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21
ATTRIBUTES_LOW_BYTE: Final = 22
MIN_LONG: Final = -(1 << 63)
MAX_LONG: Final = (1 << 63) - 1
CODEC_OF_TYPE: Final = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
CLIENT: Final = Origin.CLIENT
INVALID_TIMESTAMP_TEXT: Final = "One or more records have been rejected due to invalid timestamp"


class NeedsWorker(Exception):
    """The batch would keep the loop too long: `prepare()` it in a worker, append the result."""


class Rules:
    """The topic settings that validation obeys, worked out once a configuration.

    `target_codec` is -1 where the producer's codec stays.
    """

    __slots__ = (
        "after_max_ms",
        "before_max_ms",
        "compact",
        "level",
        "log_append_time",
        "max_message_bytes",
        "segment_bytes",
        "target_codec",
        "topic_partition",
    )

    def __init__(self, topic_partition: object, config: LogConfig) -> None:
        self.topic_partition = topic_partition
        self.compact = config.compact
        self.log_append_time = config.log_append_time
        self.before_max_ms = config.timestamp_before_max_ms
        self.after_max_ms = config.timestamp_after_max_ms
        self.max_message_bytes = config.max_message_bytes
        self.segment_bytes = config.segment_bytes
        self.target_codec = CODEC_OF_TYPE.get(config.compression_type, -1)
        self.level: int | None = {
            "gzip": config.compression_gzip_level,
            "lz4": config.compression_lz4_level,
            "zstd": config.compression_zstd_level,
        }.get(config.compression_type)


class Prepared:
    """A validated batch that only lacks its offsets; it lies on the caller's buffer or on its own.

    `log_append_time_ms` is -1 under CreateTime.
    """

    __slots__ = ("batch", "log_append_time_ms", "origin")

    def __init__(self, batch: RecordBatch, log_append_time_ms: int, origin: Origin) -> None:
        self.batch = batch
        self.log_append_time_ms = log_append_time_ms
        self.origin = origin


def output_limit(max_message_bytes: int) -> int:
    """Most bytes a batch may decompress to."""
    return max(OUTPUT_LIMIT, OUTPUT_RATIO * max_message_bytes)


def prepare(
    records: Buffer, rules: Rules, now_ms: int, origin: Origin, *, on_loop: bool = False
) -> Prepared:
    """Check one batch and bring it into the form that is stored, but for its offsets.

    Raises KafkaError, InvalidRecords where single records are at fault, and with `on_loop`
    NeedsWorker where the batch unfolds to more than the loop may work through.
    """
    batch = _shallow(records, rules, origin)
    if origin is CLIENT:
        _check_client_batch(batch)
    attributes = batch.attributes
    codec = attributes & CODEC_MASK
    payload = _decompress(batch, rules, on_loop) if codec else batch.view[HEADER_SIZE:]
    log_append_time = rules.log_append_time
    if log_append_time or attributes & LOG_APPEND_TIME_FLAG:
        earliest, latest = MIN_LONG, MAX_LONG
        _check_timestamp_type(batch, rules, now_ms)
    else:
        earliest = now_ms - rules.before_max_ms
        latest = now_ms + rules.after_max_ms
        latest = min(latest, MAX_LONG)
    scan = validate_records(
        payload, batch.record_count, batch.base_timestamp, rules.compact, earliest, latest
    )
    if scan.errors:
        raise _invalid_records(scan.errors, rules, now_ms)
    if log_append_time:
        max_timestamp = now_ms
    elif attributes & LOG_APPEND_TIME_FLAG:
        max_timestamp = batch.max_timestamp
    else:
        max_timestamp = scan.max_timestamp
    target = rules.target_codec
    if target < 0 or attributes & CONTROL_FLAG:
        target = codec
    if target != codec or not scan.consecutive:
        batch = _rebuild(batch, payload, target, rules, scan.consecutive)
        _check_size(batch.size, rules)
    if max_timestamp != batch.max_timestamp or log_append_time != bool(
        attributes & LOG_APPEND_TIME_FLAG
    ):
        batch.set_timestamps(log_append_time, max_timestamp)
    if batch.size > rules.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {batch.size} bytes in append to partition "
            f"{rules.topic_partition}, which exceeds the maximum configured segment size of "
            f"{rules.segment_bytes}.",
        )
    return Prepared(batch, now_ms if log_append_time else NO_TIMESTAMP, origin)


def _shallow(records: Buffer, rules: Rules, origin: Origin) -> RecordBatch:
    """The one batch of the buffer, size and checksum checked; a partial one behind it is cut."""
    view = records if type(records) is memoryview else memoryview(records)
    if view.readonly:
        view = memoryview(bytearray(view))
    if len(view) < HEADER_SIZE:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, "A produce request must have one record batch per partition"
        )
    batch = RecordBatch(view, 0, len(view))
    if batch.base_offset and origin is CLIENT:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"The baseOffset of the record batch in the append to {rules.topic_partition} "
            f"should be 0, but it is {batch.base_offset}",
        )
    size = batch.size
    if size != len(view) and _holds_another_batch(view, size):
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            "Produce requests are only allowed to contain exactly one record batch per partition",
        )
    if size > rules.max_message_bytes:
        _check_size(size, rules)
    if crc32c(view[ATTRIBUTES_POSITION:size]) != batch.crc:
        raise CorruptBatch(
            f"Record is corrupt (stored crc = {batch.crc}) in topic partition "
            f"{rules.topic_partition}."
        )
    return batch


def _holds_another_batch(view: memoryview, position: int) -> bool:
    prefix = peek_header(view, position)
    return prefix is not None and prefix.size <= len(view) - position


def _check_size(size: int, rules: Rules) -> None:
    if size > rules.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {rules.topic_partition} is {size} bytes "
            f"which exceeds the maximum configured value of {rules.max_message_bytes}.",
        )


def _check_client_batch(batch: RecordBatch) -> None:
    """What a producer may not put into a header."""
    count = batch.record_count
    if count <= 0 or count != batch.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and "
            f"count of records {count}",
        )
    if batch.attributes & CONTROL_FLAG:
        raise KafkaError(
            ErrorCode.INVALID_RECORD, "Clients are not allowed to write control records"
        )
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
            f"{batch.producer_id}",
        )


def _decompress(batch: RecordBatch, rules: Rules, on_loop: bool) -> Buffer:
    limit = output_limit(rules.max_message_bytes)
    if not on_loop or limit <= LOOP_OUTPUT_LIMIT:
        return batch.decompressed(limit)
    if batch.size > LOOP_INPUT_LIMIT:
        raise NeedsWorker
    try:
        return batch.decompressed(LOOP_OUTPUT_LIMIT)
    except DecompressedTooLarge as error:
        raise NeedsWorker from error


def _check_timestamp_type(batch: RecordBatch, rules: Rules, now_ms: int) -> None:
    """A producer may not claim append time where the broker stamps, nor hide a wrong time behind
    it.

    All records of such a batch have its max timestamp, so that one is what is checked.
    """
    if not batch.attributes & LOG_APPEND_TIME_FLAG or batch.attributes & CONTROL_FLAG:
        return
    timestamp = batch.max_timestamp
    if rules.log_append_time or timestamp == NO_TIMESTAMP:
        reason = (
            "Invalid timestamp type in message. Producer should not set timestamp type to "
            "LogAppendTime."
        )
    elif not now_ms - rules.before_max_ms <= timestamp <= now_ms + rules.after_max_ms:
        reason = f"Timestamp {timestamp} of message is out of range."
    else:
        return
    raise InvalidRecords(
        ErrorCode.INVALID_TIMESTAMP,
        INVALID_TIMESTAMP_TEXT,
        [(index, reason) for index in range(min(batch.record_count, MOST_ERRORS_SHOWN))],
    )


def _invalid_records(
    errors: Sequence[tuple[int, int]], rules: Rules, now_ms: int
) -> InvalidRecords:
    """The refusal that names every record at fault; one wrong timestamp decides the code."""
    missing = (
        "Compacted topic cannot accept message without key in topic partition "
        f"{rules.topic_partition}."
    )
    out_of_range = (
        "Timestamp of message is out of range. The timestamp should be within "
        f"[{now_ms - rules.before_max_ms}, {now_ms + rules.after_max_ms}]"
    )
    reasons = [(index, missing if kind == KEY_MISSING else out_of_range) for index, kind in errors]
    if any(kind != KEY_MISSING for _, kind in errors):
        return InvalidRecords(ErrorCode.INVALID_TIMESTAMP, INVALID_TIMESTAMP_TEXT, reasons)
    shown = "; ".join(f"{index}: {reason}" for index, reason in reasons[:MOST_ERRORS_SHOWN])
    return InvalidRecords(
        ErrorCode.INVALID_RECORD,
        f"One or more records have been rejected due to {len(reasons)} record errors in total, "
        f"and only showing the first three errors at most: {shown}",
        reasons,
    )


def _rebuild(
    batch: RecordBatch, payload: Buffer, codec: int, rules: Rules, keeps_offsets: bool
) -> RecordBatch:
    """The same records as a batch of its own: offsets 0..n-1, in this codec, all else kept.

    Records whose offsets are in order already keep their bytes; only their wrapping changes.
    """
    from protocol.records.compression import compress

    if not keeps_offsets:
        payload = _renumbered(batch, payload)
    body = compress(codec, payload, rules.level)
    data = bytearray(batch.view[:HEADER_SIZE]) + body
    data[LENGTH_POSITION : LENGTH_POSITION + 4] = (len(data) - LOG_OVERHEAD).to_bytes(4, "big")
    data[ATTRIBUTES_LOW_BYTE] = data[ATTRIBUTES_LOW_BYTE] & ~CODEC_MASK | codec
    checksum = crc32c(memoryview(data)[ATTRIBUTES_POSITION:])
    data[CRC_POSITION : CRC_POSITION + 4] = checksum.to_bytes(4, "big")
    return RecordBatch(memoryview(data), 0, len(data))


def _renumbered(batch: RecordBatch, payload: Buffer) -> bytes:
    """The records of a payload with offset deltas 0..n-1; INVALID_RECORD where they are too many.

    No producer leaves gaps. Each record becomes an object here, and six kilobytes may unfold to
    nine million of them.
    """
    if batch.record_count > MOST_RENUMBERED:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"The offsets of {batch.record_count} records are not consecutive",
        )
    records = decode_records(payload, 0, batch.base_timestamp, batch.record_count, None)
    return b"".join(
        encode_record(index, record.timestamp - batch.base_timestamp, *record[2:])
        for index, record in enumerate(records)
    )
