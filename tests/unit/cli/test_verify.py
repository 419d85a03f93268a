"""tidelog log verify: silent where all holds, and exact about what does not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.verify import command
from tests.support.kept_files import flip, leave_as_if_killed, unpack


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return unpack(tmp_path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def findings(*arguments: object) -> list[dict[str, Any]]:
    result = run(*arguments, "--json")
    found: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return found


def test_what_kafka_closed_is_in_order(clean: Path) -> None:
    result = run(clean, "--deep")
    assert result.exit_code == 0, result.output
    assert "20 partitions verified" in result.output
    assert "0 problems" in result.output


def test_what_kafka_leaves_when_it_is_killed_is_in_order_too(clean: Path) -> None:
    leave_as_if_killed(clean)
    result = run(clean, "--deep", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["findings"] == []


def test_a_flipped_bit_is_found_and_named(clean: Path) -> None:
    log = clean / "g-index-0" / f"{0:020d}.log"
    flip(log, 700)
    found = findings(clean)
    assert run(clean).exit_code == 1
    first = found[0]
    assert (first["path"], first["severity"]) == (str(log), "error")
    assert first["position"] == 580
    assert first["offset"] == 4
    assert "checksum" in first["problem"]
    assert "repair" in first["remedy"]
    assert f"g-index-0/{0:020d}.log" in run(clean).output


def test_one_partition_is_looked_at_by_itself(clean: Path) -> None:
    flip(clean / "g-index-0" / f"{0:020d}.log", 700)
    assert run(clean / "g-txn-0").exit_code == 0
    assert run(clean / "g-index-0").exit_code == 1
    assert "2 partitions" in run(clean / "g-txn-0", clean / "g-none-0").output


def test_an_unreadable_checkpoint_is_a_problem_of_the_data_directory(clean: Path) -> None:
    (clean / "recovery-point-offset-checkpoint").write_text("rubbish")
    result = run(clean)
    assert result.exit_code == 1
    assert "recovery-point-offset-checkpoint" in result.output


def test_two_directories_must_be_of_one_broker(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    shutil.copy(clean / "meta.properties", tmp_path / "copy")
    found = findings(clean, tmp_path / "copy")
    assert any("another directory too" in each["problem"] for each in found)


def test_not_a_byte_is_written(clean: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in clean.rglob("*")
        }

    before = state()
    run(clean, "--deep")
    assert state() == before
