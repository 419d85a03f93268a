"""tidelog log verify: what holds is silent, what does not is named."""

import json
import lzma
import shutil
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.log import command

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition directory that Kafka wrote."""
    with lzma.open(GOLDEN / "records-logs.tar.xz") as file, tarfile.open(fileobj=file) as archive:
        archive.extractall(tmp_path / "golden", filter="data")
    (segment,) = [p for p in (tmp_path / "golden").rglob("*.log") if "g-gzip" in str(p)]
    folder = tmp_path / "data" / "orders-0"
    folder.mkdir(parents=True)
    shutil.copy(segment, folder / "00000000000000000000.log")
    return folder


def test_a_directory_in_order_passes(partition: Path) -> None:
    result = CliRunner().invoke(command, ["verify", str(partition.parent)])
    assert result.exit_code == 0, result.output
    assert "1 partition verified, 0 problems" in result.output


def test_a_flipped_bit_is_found_and_named(partition: Path) -> None:
    log = partition / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    result = CliRunner().invoke(command, ["verify", str(partition), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["path"] == str(log)


def test_an_unreadable_checkpoint_is_a_problem_of_the_data_directory(partition: Path) -> None:
    (partition.parent / "recovery-point-offset-checkpoint").write_text("rubbish")
    result = CliRunner().invoke(command, ["verify", str(partition.parent)])
    assert result.exit_code == 1
    assert "recovery-point-offset-checkpoint" in result.output
