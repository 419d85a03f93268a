"""Who holds a read owns its records."""

from broker.replication.partition_read import NO_OFFSET, PartitionRead, failed_read
from protocol.errors import ErrorCode
from storage.segment.file_records import Era, FileSlice, SharedFile
from tests.support.fault_disk import FaultDisk


class Records(FileSlice):
    released = 0

    def release(self) -> None:
        self.released += 1
        super().release()


def records_of(nbytes: int) -> Records:
    disk = FaultDisk()
    return Records(disk, SharedFile(disk, disk.open("/file", create=True)), Era(), 0, nbytes)


def test_records_are_released_once() -> None:
    read = PartitionRead(ErrorCode.NONE, 1, 1, 0)
    assert read.nbytes == 0
    read.records = records = records_of(7)
    assert read.nbytes == 7
    read.release()
    read.release()
    assert records.released == 1
    assert read.nbytes == 0


def test_a_failure_knows_no_offsets() -> None:
    read = failed_read(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    offsets = (read.high_watermark, read.last_stable_offset, read.log_start_offset)
    assert offsets == (NO_OFFSET, NO_OFFSET, NO_OFFSET)
    assert read.aborted_transactions is None
