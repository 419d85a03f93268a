"""tidelog log dump."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.dump import command, parse_offsets
from tests.support.kept_files import flip, unpack


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return unpack(tmp_path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def items(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]


def test_json_is_one_object_a_line(clean: Path) -> None:
    found = items(clean / "g-none-0" / f"{0:020d}.log")
    assert [item["base_offset"] for item in found] == [0, 3, 8]


def test_a_directory_is_dumped_file_by_file(clean: Path) -> None:
    result = run(clean)
    assert result.exit_code == 0
    for name in ("meta.properties", "g-txn-0/00000000000000000005.txnindex", "partition.metadata"):
        assert name in result.output
    assert "codec=zstd" in result.output


def test_partitions_and_offsets_choose(clean: Path) -> None:
    found = items(clean, "--partition", "g-gzip-*", "--offset", "30-31")
    assert {item["path"].partition("/")[0] for item in found} == {"g-gzip-0"}
    assert [item["base_offset"] for item in found if "base_offset" in item] == [20]
    one = items(clean / "g-gzip-0", "--offset", 30)
    assert [item["offset"] for item in one if "key" in item] == [30]


def test_internal_topics_are_decoded(clean: Path) -> None:
    found = items(clean, "--partition", "__transaction_state-1", "--records")
    states = [item["value"]["transaction_status"] for item in found if "type" in item]
    assert states == [0, 1, 2, 4, 0, 1, 3, 5]


def test_what_can_be_read_is_shown_with_the_place_of_the_damage(clean: Path) -> None:
    path = clean / "g-none-0" / f"{0:020d}.log"
    flip(path, 70)
    result = run(path)
    assert result.exit_code == 1
    assert "position=0" in result.output
    assert "error=checksum of the batch at offset 0 is wrong" in result.output
    assert "base_offset=3" in result.output


def test_nothing_printed_moves_the_cursor(tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_text("version: \x1b[2J0\n")
    assert "\\x1b[2J" in run(tmp_path).output


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, (0, 2**63 - 1)),
        ("7", (7, 7)),
        ("5-9", (5, 9)),
        ("5-", (5, 2**63 - 1)),
        ("-9", (0, 9)),
    ],
)
def test_offsets_are_one_or_a_range(text: str | None, wanted: tuple[int, int]) -> None:
    assert parse_offsets(text) == wanted


def test_an_offset_that_is_none_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, "--offset", "seven")
    assert result.exit_code == 2
    assert "neither an offset nor FIRST-LAST" in result.output
