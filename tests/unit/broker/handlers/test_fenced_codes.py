import pytest

from broker.handlers.fenced_codes import told_to_version
from protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "version", "told"),
    [
        (ErrorCode.PRODUCER_FENCED, 1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.PRODUCER_FENCED, 2, ErrorCode.PRODUCER_FENCED),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 1, ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
def test_the_word_comes_with_its_version(code: ErrorCode, version: int, told: ErrorCode) -> None:
    assert told_to_version(code, version, 2) is told
