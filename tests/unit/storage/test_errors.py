"""Errors say what failed and where."""

from storage.errors import CorruptFileError, StorageError


def test_a_storage_error_names_the_directory_and_the_cause() -> None:
    error = StorageError("/d", "Error while writing", OSError(5, "I/O error"))
    assert str(error) == "Error while writing in log directory /d: [Errno 5] I/O error"
    assert str(StorageError("/d", "Gone")) == "Gone in log directory /d"


def test_a_corrupt_file_is_named() -> None:
    assert str(CorruptFileError("/d/f", "too short")) == "/d/f: too short"
