"""Dumps of files that Apache Kafka wrote."""

import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.dump import dump_file
from cli.log import command

GOLDEN = Path(__file__).parents[2] / "golden" / "records-logs.tar.xz"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Segments of several topics, unpacked."""
    folder = tmp_path_factory.mktemp("logs")
    with lzma.open(GOLDEN) as file, tarfile.open(fileobj=file) as archive:
        archive.extractall(folder, filter="data")
    return folder


def items(path: Path, records: bool = False) -> list[dict[str, Any]]:
    return list(dump_file(path, records))


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
    assert found[1]["crc_ok"] is True
    assert found[-1]["position"] == len(data)
    assert "cut short" in found[-1]["error"]


def test_json_is_one_object_a_line(logs: Path) -> None:
    result = CliRunner().invoke(command, ["dump", str(segment(logs, "g-none")), "--json"])
    assert [json.loads(line)["base_offset"] for line in result.stdout.splitlines()] == [0, 3, 8]
