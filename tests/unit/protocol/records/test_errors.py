"""Each kind of bad batch has the code that Kafka answers."""

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.records.errors import (
    CorruptBatch,
    DecompressedTooLarge,
    LegacyMessageSet,
    MalformedRecords,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CorruptBatch("torn"), ErrorCode.CORRUPT_MESSAGE),
        (LegacyMessageSet(1), ErrorCode.CORRUPT_MESSAGE),
        (DecompressedTooLarge(10), ErrorCode.MESSAGE_TOO_LARGE),
        (MalformedRecords("record 3"), ErrorCode.INVALID_RECORD),
    ],
)
def test_bad_batches_have_a_code_and_a_message(error: KafkaError, code: ErrorCode) -> None:
    assert error.code is code
    assert error.message
