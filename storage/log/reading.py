"""Reading a log: how far, from which segment, and which aborted transactions go with it.

Nothing is decompressed or trimmed: data start at the batch that contains the offset and end by
byte position, maybe inside a batch. The bound is an offset, turned into (segment, position) once
and remembered until it moves. A segment whose batches all lie below the offset (a hole that
compaction left) is passed over for the next one. Source: LocalLog.read,
UnifiedLog.convertToOffsetMetadataOrThrow, collectAbortedTransactions.
"""

import logging
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from storage.errors import CorruptFileError
from storage.log.results import AbortedTransaction, ReadBound, ReadResult
from storage.segment.segment import Segment

if TYPE_CHECKING:
    from storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

FAR = 1 << 62


class Place(NamedTuple):
    """Where an offset lies, or will: in the segment with this base, at this byte."""

    offset: int
    segment_base_offset: int
    position: int


def read(
    log: "PartitionLog", offset: int, max_bytes: int, bound: ReadBound, min_one_message: bool
) -> ReadResult:
    """Records from the batch that contains `offset` up to the bound.

    At or beyond the bound, but not beyond the log end, the answer is empty.
    KafkaError(OFFSET_OUT_OF_RANGE) outside [log start, log end], KAFKA_STORAGE_ERROR where it
    cannot be told which transactions were aborted.
    """
    if offset > log.log_end_offset or offset < log.log_start_offset:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Received request for offset {offset} for partition {log.topic_partition}, but we "
            f"only have log segments from offset {log.log_start_offset} up to "
            f"{log.log_end_offset}.",
        )
    committed = bound is ReadBound.LAST_STABLE
    limit = place_of_bound(log, bound)
    if offset >= limit.offset:
        none: list[AbortedTransaction] | None = [] if committed else None
        return ReadResult(None, offset, limit.segment_base_offset, limit.position, none)
    segments = log.segments
    segment: Segment | None = segments.floor(offset) or segments.first
    while segment is not None and segment.base_offset <= limit.segment_base_offset:
        base = segment.base_offset
        end = limit.position if base == limit.segment_base_offset else segment.size
        found = segment.read(offset, max_bytes, end, min_one_message)
        if found is not None:
            piece, first_offset, position = found
            aborted = None
            if committed:
                nbytes = 0 if piece is None else piece.nbytes
                try:
                    aborted = _aborted(log, segment, offset, (position, nbytes))
                except BaseException:
                    if piece is not None:
                        piece.release()
                    raise
            return ReadResult(piece, first_offset, base, position, aborted)
        segment = segments.higher(base)
    return ReadResult(
        None, offset, limit.segment_base_offset, limit.position, [] if committed else None
    )


def place_of_bound(log: "PartitionLog", bound: ReadBound) -> Place:
    """Where the bound lies now."""
    end = log.log_end_offset
    if bound is ReadBound.LOG_END:
        offset = end
    elif bound is ReadBound.HIGH_WATERMARK:
        offset = log.high_watermark
    else:
        offset = log.last_stable_offset
    if offset >= end:
        active = log.segments.active
        return Place(end, active.base_offset, active.size)
    known = log.bound_places[bound]
    if known is None or known.offset != offset:
        known = place_of(log, offset)
        log.bound_places[bound] = known
    return known


def place_of(log: "PartitionLog", offset: int) -> Place:
    """Where the batch that contains an offset begins, or where the next one after it does."""
    segment = log.segments.floor(offset) or log.segments.first
    found = segment.translate_offset(offset)
    position = segment.size if found is None else found[0]
    return Place(offset, segment.base_offset, position)


def estimate_bytes(
    log: "PartitionLog", offset: int, bound: ReadBound, at: tuple[int, int] | None
) -> int:
    """Bytes between an offset and the bound as positions tell; FAR when segments lie between."""
    limit = place_of_bound(log, bound)
    if offset >= limit.offset:
        return 0
    if at is None:
        place = place_of(log, offset)
        at = place.segment_base_offset, place.position
    base, position = at
    if base != limit.segment_base_offset:
        return FAR
    return max(limit.position - position, 0)


def _aborted(
    log: "PartitionLog", segment: Segment, offset: int, extent: tuple[int, int]
) -> list[AbortedTransaction]:
    """Every aborted transaction that may have records in what was read, from this and later
    segments.

    Reports rather too many than too few.
    """
    base = segment.base_offset
    upper_bound = segment.fetch_upper_bound_offset(*extent)
    if upper_bound is None:
        later = log.segments.higher(base)
        upper_bound = log.log_end_offset if later is None else later.base_offset
    found: list[AbortedTransaction] = []
    for candidate in log.segments.since(base):
        try:
            entries, complete = candidate.transaction_index.collect(offset, upper_bound)
        except CorruptFileError as error:
            logger.error(
                "%s Aborted transactions are not known, so committed records are not served "
                "before their segment is rebuilt: %s",
                log.prefix,
                error,
            )
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR) from error
        found += [AbortedTransaction(entry.producer_id, entry.first_offset) for entry in entries]
        if complete:
            break
    return found
