"""Dumps of files that Apache Kafka wrote."""

import lzma
import struct
import tarfile
from pathlib import Path
from typing import Any

import pytest

from cli.log_items import EVERYTHING, Wanted, dump_file
from cluster.store.port import Create
from cluster.store.tables import Tree
from storage.producer.entry import BatchMetadata, ProducerEntry
from storage.producer.snapshot import encode_snapshot
from tests.support.record_batches import legacy

GOLDEN = Path(__file__).parents[2] / "golden" / "records-logs.tar.xz"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Segments of several topics, unpacked."""
    folder = tmp_path_factory.mktemp("logs")
    with lzma.open(GOLDEN) as file, tarfile.open(fileobj=file) as archive:
        archive.extractall(folder, filter="data")
    return folder


def items(path: Path, records: bool = False) -> list[dict[str, Any]]:
    return list(dump_file(path, Wanted(records=True) if records else EVERYTHING))


def segment(logs: Path, topic: str) -> Path:
    return min(path for path in logs.rglob("*.log") if topic in str(path))


def test_batches_are_shown_with_position_flags_and_crc(logs: Path) -> None:
    batches = items(segment(logs, "g-lz4"))
    assert [(b["base_offset"], b["last_offset"], b["codec"]) for b in batches] == [
        (0, 19, "lz4"),
        (20, 49, "lz4"),
    ]
    assert all(batch["crc_ok"] for batch in batches)
    assert batches[1]["position"] == batches[0]["size"]


def test_records_are_shown_on_request(logs: Path) -> None:
    shown = [item for item in items(segment(logs, "g-none"), records=True) if "offset" in item]
    assert [item["offset"] for item in shown] == list(range(11))
    assert None in [item["value"] for item in shown]


def test_transaction_markers_are_named(logs: Path) -> None:
    every = [
        item
        for path in sorted(logs.rglob("*.log"))
        if "g-txn" in str(path)
        for item in items(path, records=True)
    ]
    assert {item["marker"] for item in every if "marker" in item} == {"COMMIT", "ABORT"}


def test_a_flipped_bit_and_a_torn_tail_show_where_they_are(logs: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "00000000000000000000.log"
    data = bytearray(segment(logs, "g-none").read_bytes())
    data[100] ^= 1
    damaged.write_bytes(data + data[:40])
    found = items(damaged)
    assert found[0]["crc_ok"] is False
    assert "checksum" in found[1]["error"]
    assert found[2]["crc_ok"] is True
    assert found[-1]["position"] == len(data)
    assert "incomplete" in found[-1]["error"]


def test_offsets_choose_batches_records_and_entries(logs: Path) -> None:
    found = list(dump_file(segment(logs, "g-none"), Wanted(True, 4, 8)))
    assert [item["base_offset"] for item in found if "base_offset" in item] == [3, 8]
    assert [item["offset"] for item in found if "offset" in item] == [4, 5, 6, 7, 8]


def test_indexes_end_where_kafka_s_zeros_begin(tmp_path: Path) -> None:
    index = tmp_path / f"{100:020d}.index"
    index.write_bytes(struct.pack(">iiii", 5, 70, 9, 140) + bytes(80))
    assert items(index) == [
        {"slot": 0, "offset": 105, "position": 70},
        {"slot": 1, "offset": 109, "position": 140},
    ]
    assert list(dump_file(index, Wanted(first=106))) == items(index)[1:]
    index.write_bytes(struct.pack(">ii", 5, 70) + b"\1\2")
    assert items(index)[-1]["error"] == "2 bytes at position 8 are no whole entry"
    times = tmp_path / f"{100:020d}.timeindex"
    times.write_bytes(struct.pack(">qi", 77, 5) + b"\1")
    assert items(times)[0] == {"slot": 0, "timestamp": 77, "offset": 105}
    assert "error" in items(times)[1]
    aborted = tmp_path / f"{100:020d}.txnindex"
    aborted.write_bytes(struct.pack(">hqqqq", 0, 7, 101, 104, 105) + b"\1")
    assert items(aborted)[0]["last_stable_offset"] == 105
    assert "error" in items(aborted)[1]
    assert list(dump_file(aborted, Wanted(first=105)))[:-1] == []


def test_producers_are_shown_or_why_they_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / f"{5:020d}.snapshot"
    entry = ProducerEntry(7)
    entry.set_epoch(2)
    entry.add(BatchMetadata(3, 4, 1, 99))
    path.write_bytes(encode_snapshot([entry, ProducerEntry(8)]))
    first, second = items(path)
    assert (first["producer_id"], first["last_sequence"], first["last_offset"]) == (7, 3, 4)
    assert second["last_offset"] == -1
    path.write_bytes(b"\0\1rubbish")
    assert "error" in items(path)[0]


def test_text_files_are_shown_by_their_fields(tmp_path: Path) -> None:
    points = tmp_path / "recovery-point-offset-checkpoint"
    points.write_text("0\n1\norders 2 30\n")
    assert items(points) == [{"topic": "orders", "partition": 2, "offset": 30}]
    points.write_text("0\n1\norders 2\n")
    assert "malformed" in items(points)[0]["error"]
    assert items(points)[-1] == {"line": "orders 2"}
    points.write_text("0\n1\norders two 2\n")
    assert "invalid literal" in items(points)[0]["error"]
    epochs = tmp_path / "leader-epoch-checkpoint"
    epochs.write_text("0\n1\n3 40\n")
    assert items(epochs) == [{"epoch": 3, "start_offset": 40}]
    epochs.write_text("9\n")
    assert "version" in items(epochs)[0]["error"]
    meta = tmp_path / "meta.properties"
    meta.write_text("#\nnode.id=3\nversion=1\n")
    assert items(meta) == [{"node.id": "3", "version": "1"}]
    other = tmp_path / "bootstrap.checkpoint"
    other.write_text("anything")
    assert items(other) == [{"line": "anything"}]
    unknown = tmp_path / "notes.txt"
    unknown.write_text("anything")
    assert items(unknown) == []


def test_the_metadata_store_is_read_from_a_copy(tmp_path: Path) -> None:
    file = tmp_path / "tidelog-metadata.sqlite"
    tree = Tree.open(str(file), [Create("/a", b'{"x":1}'), Create("/b", b"text"), Create("/c")])
    tree.close()
    shown = {item["node"]: item["data"] for item in items(file)}
    assert (shown["/a"], shown["/b"], shown["/c"]) == ({"x": 1}, "text", None)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    file.write_bytes(b"rubbish" * 400)
    assert "error" in items(file)[0]


def test_an_old_message_and_an_empty_segment_are_shown(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(b"")
    assert items(path) == []
    path.write_bytes(legacy(3, 1))
    assert (items(path)[0]["base_offset"], items(path)[0]["magic"]) == (3, 1)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert "cannot be read" in items(tmp_path / f"{0:020d}.index")[0]["error"]
