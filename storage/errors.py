"""What can go wrong with stored bytes.

Four kinds, told apart by what has to happen next: `StorageError` takes a log directory offline,
`DamagedLog` one log, `CorruptFileError` means a file is rebuilt or ignored with a warning, and
`InvalidIndexOffsetError` is a bug or a log that went backwards.
"""


class StorageError(Exception):
    """A log directory failed; it goes offline for the life of the process.

    Made in one place, `storage.log_dir_disk`, from the OSError of the disk.
    """

    def __init__(self, directory: str, message: str, cause: BaseException | None = None) -> None:
        super().__init__(directory, message, cause)
        self.directory = directory
        self.message = message
        self.cause = cause

    def __str__(self) -> str:
        because = f": {self.cause}" if self.cause is not None else ""
        return f"{self.message} in log directory {self.directory}{because}"


class DamagedLog(Exception):
    """Records that were durable are not what they were: the log stays as it is, unserved.

    `position` is where in the file the first of them should be.
    """

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(path, position, reason)
        self.path = path
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} at position {self.position}: {self.reason}"


class CorruptFileError(Exception):
    """A file of ours does not hold what it should; nothing was changed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class InvalidIndexOffsetError(ValueError):
    """An offset does not fit the segment or is not beyond the index's last."""
