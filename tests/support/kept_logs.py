"""A partition directory with something of everything, closed cleanly, for tests of tools."""

from typing import Any

from config.topic_config import LogConfig
from protocol.records.builder import build_batch
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from storage.audit import Question, audit_log_dirs
from storage.invariants.finding import Finding, Severity
from storage.log.results import Origin
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import LOG_DIR, LogHarness, records

PARTITION_DIR = f"{LOG_DIR}/orders-0"


def kept_log(batches: int = 20, segment_bytes: int = 800) -> FaultDisk:
    """Batches of one record in several segments, leader epochs 0 and 3, one aborted transaction."""
    disk = FaultDisk()
    harness = LogHarness(disk, LogConfig(segment_bytes=segment_bytes, index_interval_bytes=100))
    for number in range(batches):
        harness.now_ms += 10
        harness.append([b"value-%d" % number], epoch=0 if number < batches // 2 else 3)
    fields: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0}
    log = harness.log
    aborted = build_batch(
        records([b"x"], harness.now_ms), is_transactional=True, base_sequence=0, **fields
    )
    log.append_as_leader(memoryview(aborted), 3, harness.now_ms)
    marker = build_end_transaction_marker(
        EndTransactionMarker(False, 0), timestamp=harness.now_ms, **fields
    )
    log.append_as_leader(memoryview(marker), 3, harness.now_ms, origin=Origin.COORDINATOR)
    log.update_high_watermark(log.log_end_offset)
    harness.close()
    return disk


def names(disk: FaultDisk, kind: str) -> list[str]:
    """Paths of the partition's files whose names end so, sorted."""
    return sorted(
        f"{PARTITION_DIR}/{name}" for name in disk.listdir(PARTITION_DIR) if name.endswith(kind)
    )


def edit(disk: FaultDisk, path: str, at: int, data: bytes) -> None:
    """Overwrite bytes in a file."""
    content = bytearray(disk.read_file(path))
    content[at : at + len(data)] = data
    disk.write_file(path, bytes(content))


def found(disk: FaultDisk, question: Question | None = None) -> list[Finding]:
    """What an audit of the directory says is wrong."""
    every = audit_log_dirs(disk, [LOG_DIR], question or Question(deep=True))
    return [finding for finding in every if finding.severity >= Severity.WARNING]


def problems(disk: FaultDisk, question: Question | None = None) -> str:
    """The same in one text."""
    return "\n".join(map(str, found(disk, question)))
