"""Gaps that a repair left are told apart from files that were lost."""

import pytest

from storage.audit import Question
from storage.errors import CorruptFileError
from storage.known_gaps import KNOWN_GAPS, read_known_gaps, write_known_gaps
from storage.repair_log_dir import repair_log_dir
from tests.support.fault_disk import FaultDisk
from tests.support.kept_logs import PARTITION_DIR, edit, found, kept_log, names, problems

KNOWN = Question(deep=True, compacted={"orders": False})


def test_gaps_come_back_as_they_were_written() -> None:
    disk = FaultDisk()
    disk.makedirs("/d")
    assert read_known_gaps(disk, "/d") == []
    write_known_gaps(disk, "/d", [(4, 5), (9, 20)])
    assert read_known_gaps(disk, "/d") == [(4, 5), (9, 20)]
    disk.write_file(f"/d/{KNOWN_GAPS}", b"0\n1\n4\n")
    with pytest.raises(CorruptFileError, match="malformed line"):
        read_known_gaps(disk, "/d")


def test_a_repaired_log_has_no_fault_though_records_are_missing() -> None:
    disk = kept_log()
    _, second, *_ = names(disk, ".log")
    edit(disk, second, 70, bytes((disk.read_file(second)[70] ^ 1,)))
    report = repair_log_dir(disk, "/data", "/new", lambda _nbytes: None)
    (loss,) = report.logs[0].losses
    assert read_known_gaps(disk, "/new/orders-0") == [(loss.first, loss.end)]
    disk.rmtree("/data")
    disk.rename("/new", "/data")
    assert found(disk, KNOWN) == []
    again = repair_log_dir(disk, "/data", "/again", lambda _nbytes: None)
    assert again.logs[0].gaps == []
    assert read_known_gaps(disk, "/again/orders-0") == [(loss.first, loss.end)]


def test_a_file_that_cannot_be_read_excuses_nothing() -> None:
    disk = kept_log()
    disk.write_file(f"{PARTITION_DIR}/{KNOWN_GAPS}", b"rubbish")
    assert "known-gaps" in problems(disk, KNOWN)
