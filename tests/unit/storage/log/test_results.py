"""What a log's answers carry."""

from protocol.errors import ErrorCode, KafkaError
from storage.log.results import AbortedTransaction, AppendResult, InvalidRecords, ReadResult


def test_an_append_says_where_the_records_went() -> None:
    result = AppendResult(5, 7, -1, 0, 3, 200)
    assert (result.duplicate, result.jobs) == (False, ())
    assert repr(result) == "AppendResult(5..7, size=200, duplicate=False)"


def test_a_refused_batch_names_its_records() -> None:
    error = InvalidRecords(ErrorCode.INVALID_RECORD, "bad", [(2, "no key")])
    assert isinstance(error, KafkaError)
    assert (error.code, error.record_errors) == (ErrorCode.INVALID_RECORD, [(2, "no key")])


def test_a_read_says_what_it_found_and_where() -> None:
    aborted = AbortedTransaction(4, 9)
    result = ReadResult(None, 3, 0, 77, [aborted])
    assert (result.slice, result.first_batch_offset, result.position) == (None, 3, 77)
    assert repr(aborted) == "AbortedTransaction(producer_id=4, first_offset=9)"
