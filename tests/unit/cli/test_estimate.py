"""tidelog log estimate: what would go, per partition and in sum."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.estimate import command
from tests.support.kept_files import unpack


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("kafka"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def logs(*arguments: object) -> dict[str, dict[str, Any]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return {log["partition"]: log for log in json.loads(result.stdout)["logs"]}


def test_supposed_settings_count_before_all_others(clean: Path) -> None:
    found = logs(clean, "--config", "retention.ms=-1", "--config", "retention.bytes=1000000")
    (removal,) = found["g-rolled-0"]["retention"]
    assert (removal["segments"], removal["nbytes"]) == (1, 990815)
    assert found["g-none-0"]["retention"] == []


def test_topics_that_were_cleaned_count_as_compacted(clean: Path) -> None:
    found = logs(clean)
    assert found["g-compact-0"]["cleaning"]["records"] == 5
    assert found["__consumer_offsets-1"]["cleaning"] is not None
    assert found["g-none-0"]["cleaning"] is None


def test_everything_can_be_supposed_to_be_compacted(clean: Path) -> None:
    found = logs(clean / "g-rolled-0", "--config", "cleanup.policy=compact")
    assert found["g-rolled-0"]["cleaning"]["dirt"]["ratio"] == 1.0


def test_sums_are_told(clean: Path) -> None:
    result = run(clean, "--config", "retention.ms=1000")
    assert result.exit_code == 0
    assert "2,730,199 bytes in 20 partitions" in result.output


@pytest.mark.parametrize(
    ("setting", "problem"),
    [("retention.ms", "is not KEY=VALUE"), ("retention.years=1", "Unknown topic config"),
     ("retention.ms=soon", "retention.ms")],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(clean: Path, setting: str, problem: str) -> None:
    result = run(clean, "--config", setting)
    assert result.exit_code == 2
    assert problem in result.output


def test_the_broker_s_file_speaks_for_topics(clean: Path, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.retention.ms=-1\nlog.retention.bytes=1000000\n")
    found = logs(clean, "--server-properties", file)
    assert [removal["segments"] for removal in found["g-rolled-0"]["retention"]] == [1]
    file.write_text("log.retention.ms=soon\n")
    assert run(clean, "--server-properties", file).exit_code == 2


def test_an_unreadable_checkpoint_is_left_out_with_a_word(clean: Path, tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    partition.mkdir()
    (partition / f"{0:020d}.log").write_bytes((clean / "g-none-0" / f"{0:020d}.log").read_bytes())
    (tmp_path / "replication-offset-checkpoint").write_text("rubbish")
    result = run(tmp_path)
    assert result.exit_code == 0
    assert "left out" in result.output
