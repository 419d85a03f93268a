"""What reading one partition gave."""

from typing import Final

from protocol.errors import ErrorCode
from storage.log.results import AbortedTransaction
from storage.segment.file_records import FileSlice

NO_OFFSET: Final = -1


class PartitionRead:
    """The answer of one partition to a fetch, an error included (then all offsets are -1).

    Who holds it owns `records` and releases them once they are sent or given up.
    `diverging_epoch` is (epoch, end offset) where a follower's log has to be truncated.
    """

    __slots__ = (
        "aborted_transactions",
        "current_leader",
        "diverging_epoch",
        "error",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "records",
    )

    def __init__(
        self,
        error: ErrorCode,
        high_watermark: int,
        last_stable_offset: int,
        log_start_offset: int,
    ) -> None:
        self.error = error
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.records: FileSlice | None = None
        self.aborted_transactions: list[AbortedTransaction] | None = None
        self.diverging_epoch: tuple[int, int] | None = None
        # (leader id, leader epoch) told with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH.
        self.current_leader: tuple[int, int] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes of records were found."""
        return 0 if self.records is None else self.records.nbytes

    def release(self) -> None:
        """Give up the records, which will not be sent."""
        if self.records is not None:
            self.records.release()
            self.records = None


def failed_read(error: ErrorCode) -> PartitionRead:
    """The answer of a partition that could not be read."""
    return PartitionRead(error, NO_OFFSET, NO_OFFSET, NO_OFFSET)
