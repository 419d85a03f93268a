"""tidelog log repair: never in place, never beside a broker, exact about what is lost."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli import repair
from cli.repair import command
from cli.verify import command as verify
from tests.support.kept_files import flip, unpack


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return unpack(tmp_path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_a_damaged_directory_is_repaired_into_a_new_one(clean: Path, tmp_path: Path) -> None:
    flip(clean / "g-index-0" / f"{0:020d}.log", 700)
    new = tmp_path / "new"
    result = run(clean, "--to", new, "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["lost_offsets"] == 4
    (damaged,) = [log for log in report["logs"] if log["losses"]]
    assert damaged["name"] == "g-index-0"
    assert (damaged["losses"][0]["first"], damaged["losses"][0]["end"]) == (4, 8)
    assert CliRunner().invoke(verify, [str(new), "--deep"]).exit_code == 0
    assert "4 to 7" in run(clean, "--dry-run").output or "lost" in run(clean, "--dry-run").output


def test_a_sound_directory_loses_nothing(clean: Path, tmp_path: Path) -> None:
    result = run(clean, "--to", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "20 logs, 118 batches" in result.output
    assert "0 offsets lost" in result.output


def test_one_partition_is_repaired_by_itself(clean: Path, tmp_path: Path) -> None:
    result = run(clean / "g-txn-0", "--to", tmp_path / "g-txn-0")
    assert result.exit_code == 0, result.output
    assert CliRunner().invoke(verify, [str(tmp_path / "g-txn-0")]).exit_code == 0


def test_a_target_that_exists_or_lies_wrong_is_refused(clean: Path, tmp_path: Path) -> None:
    assert "exists" in run(clean, "--to", tmp_path).output
    (tmp_path / "new.partial").mkdir()
    assert "exists" in run(clean, "--to", tmp_path / "new").output
    assert "is no directory" in run(clean, "--to", tmp_path / "a" / "b").output
    assert "lies in the source" in run(clean, "--to", clean / "new").output
    assert "say --to" in run(clean).output
    assert not (clean / "new").exists()


def test_a_directory_in_use_is_refused(
    clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair, "broker_running_on", lambda _dirs: 4711)
    result = run(clean, "--to", tmp_path / "new")
    assert result.exit_code == 1
    assert "a broker runs on" in result.output
    assert "process 4711" in result.output


def test_a_dry_run_needs_no_target_and_makes_none(clean: Path, tmp_path: Path) -> None:
    result = run(clean, "--dry-run", "--to", tmp_path / "new")
    assert result.exit_code == 0
    assert "would be kept" in result.output
    assert not (tmp_path / "new").exists()


def test_the_help_says_how_to_put_the_result_in_place() -> None:
    assert "mv NEWDIR data" in run("--help").output
