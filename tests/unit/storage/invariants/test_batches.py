"""Batches: whole, right, in order, and holding what their headers say."""

import pytest

from protocol.records.batch import HEADER, iterate_batches
from protocol.records.builder import build_batch
from protocol.records.record import Record
from storage.audit import Question, audit_log_dirs
from storage.invariants.batches import BatchAudit
from storage.invariants.finding import Finding, Findings, Promise, Severity
from tests.support.kept_logs import PARTITION_DIR, edit, found, kept_log, names, problems
from tests.support.log_harness import LOG_DIR
from tests.support.record_batches import legacy

MARK = f"{LOG_DIR}/.kafka_cleanshutdown"


def walked(data: bytes, *, deep: bool = True, base: int = 0) -> list[Finding]:
    findings = Findings()
    audit = BatchAudit(findings, Promise(clean=True), deep=deep)
    audit.begin_segment("/x.log", base)
    audit.walk(
        lambda size, at: data[at : at + size],
        len(data),
        lambda _nbytes: None,
        lambda _header, _batch: None,
        True,
    )
    return findings.result()


def one(timestamps: list[int], codec: int = 0, **fields: int) -> bytearray:
    records = [Record(number, time, b"k", b"v", []) for number, time in enumerate(timestamps)]
    return build_batch(records, codec=codec, **fields)  # type: ignore[arg-type]


def resealed(batch: bytearray) -> bytes:
    """With the checksum of what it holds now: damage done before the batch was written."""
    from protocol.crc32c import crc32c

    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    return bytes(batch)


def test_later_batches_are_still_looked_at_after_a_wrong_one() -> None:
    data = bytearray()
    for offset in range(4):
        data += one([5], base_offset=offset)
    size = len(data) // 4
    data[size + 63] ^= 1
    data[3 * size + 63] ^= 1
    wrong = walked(bytes(data))
    assert [(finding.position, finding.offset) for finding in wrong] == [(size, 1), (3 * size, 3)]
    assert all("checksum" in finding.problem for finding in wrong)


def test_a_wrong_length_hides_no_batch_behind_it() -> None:
    data = bytearray(one([5]) + one([5], base_offset=1))
    data[11] ^= 1
    (finding,) = walked(bytes(data))
    assert finding.position == 0


def test_a_count_that_does_not_fit_the_offsets_is_found() -> None:
    batch = one([5, 6])
    batch[57:61] = (3).to_bytes(4, "big")
    assert "3 records cannot have 2 offsets" in walked(resealed(batch))[0].problem


def test_records_are_counted_and_their_times_compared() -> None:
    batch = one([5, 6])
    batch[35:43] = (7).to_bytes(8, "big")
    assert "timestamp of the records is 6, the batch says 7" in walked(resealed(batch))[0].problem
    cut = one([5, 6])[:-1]
    cut[8:12] = (len(cut) - 12).to_bytes(4, "big")
    assert "cannot be read" in walked(resealed(cut))[0].problem


def test_compressed_records_are_looked_at_in_a_deep_audit_only() -> None:
    batch = one([5] * 50, codec=1)
    batch[35:43] = (7).to_bytes(8, "big")
    data = resealed(batch)
    assert walked(data, deep=False) == []
    assert "timestamp" in walked(data)[0].problem


def test_offsets_inside_a_compacted_batch_ascend() -> None:
    records = [Record(offset, 5, b"k", b"v", []) for offset in (0, 4, 3)]
    batch = build_batch(records, keep_offsets=True, last_offset_delta=5)
    assert "does not ascend" in walked(bytes(batch))[0].problem
    records = [Record(offset, 5, b"k", b"v", []) for offset in (0, 3, 4)]
    batch = build_batch(records, keep_offsets=True, last_offset_delta=5)
    assert walked(bytes(batch)) == []


def test_an_impossible_leader_epoch_is_found() -> None:
    data = one([5], leader_epoch=4) + one([5], base_offset=1, leader_epoch=3)
    assert "leader epoch 3 at offset 1 goes back" in walked(bytes(data))[0].problem
    assert "cannot be" in walked(bytes(one([5], leader_epoch=-7)))[0].problem


def test_messages_of_old_formats_are_walked_over() -> None:
    assert walked(legacy(0, 0) + legacy(1, 1)) == []


def test_an_offset_out_of_the_segment_s_range_is_found() -> None:
    data = bytes(one([5], base_offset=2**31))
    assert "out of the segment's range" in walked(data)[0].problem


def test_a_segment_that_begins_inside_the_one_before_is_found() -> None:
    disk = kept_log()
    first, second, *_ = names(disk, ".log")
    disk.write_file(first, disk.read_file(first) + disk.read_file(second))
    assert "the segment before reaches to offset" in problems(disk)


@pytest.mark.parametrize(("clean", "severity"), [(True, Severity.ERROR), (False, Severity.INFO)])
def test_a_torn_tail_is_a_fault_only_after_a_clean_shutdown(
    clean: bool, severity: Severity
) -> None:
    disk = kept_log()
    last = names(disk, ".log")[-1]
    disk.write_file(last, disk.read_file(last) + b"\1" * 30)
    if not clean:
        disk.unlink(MARK)
        disk.unlink(f"{LOG_DIR}/recovery-point-offset-checkpoint")
    every = audit_log_dirs(disk, [LOG_DIR], Question())
    assert [finding.severity for finding in every if finding.path == last] == [severity]


def test_space_reserved_ahead_is_no_damage() -> None:
    disk = kept_log()
    disk.unlink(MARK)
    last = names(disk, ".log")[-1]
    disk.write_file(last, disk.read_file(last) + bytes(3000))
    assert found(disk) == []
    assert any("reserved" in str(each) for each in audit_log_dirs(disk, [LOG_DIR], Question()))


def test_a_tail_that_a_running_broker_is_writing_is_not_judged() -> None:
    disk = kept_log()
    disk.unlink(MARK)
    last = names(disk, ".log")[-1]
    disk.write_file(last, disk.read_file(last)[:-5])
    edit(disk, names(disk, ".index")[-1], 0, bytes(4))
    assert found(disk, Question(running=True)) == []


def test_gaps_are_a_fault_where_the_topic_is_known_not_to_be_compacted() -> None:
    disk = kept_log()
    first = names(disk, ".log")[0]
    batches = list(iterate_batches(disk.read_file(first)))
    kept = b"".join(bytes(batch.view) for batch in batches if batch.base_offset != 2)
    disk.write_file(first, kept)
    for kind in (".index", ".timeindex"):
        disk.unlink(first.replace(".log", kind))
    disk.unlink(MARK)
    known = Question(compacted={"orders": False})
    assert "and the topic is not compacted" in problems(disk, known)
    assert "gap" not in problems(disk)
    assert len(HEADER.unpack_from(kept)) == 13
    assert PARTITION_DIR in {finding.path for finding in found(disk, known)}
