"""Who holds a read owns its records."""

from broker.replication.partition_read import NO_OFFSET, PartitionRead, failed_read
from protocol.errors import ErrorCode


class Records:
    nbytes = 7
    released = 0

    def release(self):
        self.released += 1


def test_records_are_released_once():
    read = PartitionRead(ErrorCode.NONE, 1, 1, 0)
    assert read.nbytes == 0
    read.records = records = Records()
    assert read.nbytes == 7
    read.release()
    read.release()
    assert records.released == 1
    assert read.nbytes == 0


def test_a_failure_knows_no_offsets():
    read = failed_read(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    offsets = (read.high_watermark, read.last_stable_offset, read.log_start_offset)
    assert offsets == (NO_OFFSET, NO_OFFSET, NO_OFFSET)
    assert read.aborted_transactions is None
