"""What can be wrong with record batches, each kind with the code that answers it.

Kafka's counterparts: `CorruptRecordException`, `InvalidRecordException` and, for a batch that
unfolds beyond the limit, `RecordTooLargeException`: the Java producer then splits its batch.
"""

from protocol.errors import ErrorCode, KafkaError


class CorruptBatch(KafkaError):
    """Bytes that are no whole batch, fail their checksum or do not decompress."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


class LegacyMessageSet(CorruptBatch):
    """An entry of message format 0 or 1 where only version 2 batches are read.

    Old segments may hold them: whoever scans those walks with `peek_header` instead.
    """

    def __init__(self, magic: int) -> None:
        super().__init__(f"message format {magic} is older than record batches")
        self.magic = magic


class DecompressedTooLarge(KafkaError):
    """The records would unfold beyond the limit; nothing more than the limit was allocated."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            ErrorCode.MESSAGE_TOO_LARGE, f"records decompress to more than {limit} bytes"
        )
        self.limit = limit


class MalformedRecords(KafkaError):
    """The records inside a batch break the record format."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)
