"""Snapshots: what replay of the log says of each producer."""

from storage.audit import Question, audit_log_dirs
from storage.invariants.finding import Severity
from storage.producer.entry import BatchMetadata, ProducerEntry
from storage.producer.snapshot import encode_snapshot, read_snapshot
from tests.support.fault_disk import FaultDisk
from tests.support.kept_logs import found, kept_log, names, problems
from tests.support.log_harness import LOG_DIR


def last_snapshot(disk: FaultDisk) -> tuple[str, ProducerEntry]:
    path = names(disk, ".snapshot")[-1]
    (entry,) = read_snapshot(disk, path)
    return path, entry


def test_a_snapshot_that_says_otherwise_than_the_log_is_found() -> None:
    disk = kept_log()
    path, entry = last_snapshot(disk)
    entry.batches = [BatchMetadata(5, entry.last_offset, 0, entry.last_timestamp)]
    disk.write_file(path, encode_snapshot([entry]))
    assert "the log says ProducerEntry(1" in problems(disk)


def test_another_coordinator_epoch_is_found_and_a_forgotten_one_is_not() -> None:
    disk = kept_log()
    path, entry = last_snapshot(disk)
    entry.coordinator_epoch = 9
    disk.write_file(path, encode_snapshot([entry]))
    assert "the log says" in problems(disk)
    entry.coordinator_epoch = -1
    disk.write_file(path, encode_snapshot([entry]))
    assert found(disk) == []


def test_a_producer_that_wrote_nothing_is_found_and_one_that_expired_is_not() -> None:
    disk = kept_log()
    path, entry = last_snapshot(disk)
    stranger = ProducerEntry(99)
    disk.write_file(path, encode_snapshot([entry, stranger]))
    assert "producer 99 wrote nothing before" in problems(disk)
    disk.write_file(path, encode_snapshot([]))
    assert found(disk) == []


def test_an_open_transaction_is_never_missing() -> None:
    disk = kept_log(segment_bytes=90)
    middle = next(path for path in names(disk, ".snapshot") if any(read_snapshot(disk, path)))
    assert read_snapshot(disk, middle)[0].transaction_first_offset >= 0
    disk.write_file(middle, encode_snapshot([]))
    assert "with a transaction open, is missing" in problems(disk)


def test_an_unreadable_snapshot_is_a_warning_for_an_older_one_serves() -> None:
    disk = kept_log()
    path, _ = last_snapshot(disk)
    disk.write_file(path, disk.read_file(path)[:-1])
    (finding,) = found(disk)
    assert finding.severity == Severity.WARNING
    assert "the checksum is wrong" in finding.problem


def test_a_snapshot_beyond_the_end_is_told() -> None:
    disk = kept_log()
    path, _ = last_snapshot(disk)
    disk.write_file(path.replace("22.snapshot", "99.snapshot"), disk.read_file(path))
    assert "beyond the log end, 22" in problems(disk)


def test_after_deleted_records_replay_begins_at_the_first_segment_s_snapshot() -> None:
    disk = kept_log()
    first, second, *_ = names(disk, ".log")
    assert f"{second[:-4]}.snapshot" in names(disk, ".snapshot")
    for kind in (".log", ".index", ".timeindex"):
        disk.unlink(first.replace(".log", kind))
    assert found(disk) == []
    path, entry = last_snapshot(disk)
    entry.producer_epoch = 4
    disk.write_file(path, encode_snapshot([entry]))
    assert "the log says" in problems(disk)


def test_where_batches_are_missing_snapshots_are_not_judged() -> None:
    disk = kept_log()
    log = names(disk, ".log")[0]
    data = bytearray(disk.read_file(log))
    data[70] ^= 1
    disk.write_file(log, bytes(data))
    path, entry = last_snapshot(disk)
    entry.producer_epoch = 4
    disk.write_file(path, encode_snapshot([entry]))
    told = {finding.path for finding in audit_log_dirs(disk, [LOG_DIR], Question())}
    assert log in told
    assert path not in told
