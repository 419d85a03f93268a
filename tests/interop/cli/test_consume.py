"""tidelog consume: from where, to where, in which shape."""

import click
import pytest

from cli.consume import parse_start
from tests.interop.cli.conftest import Command


@pytest.fixture
def numbers(command: Command) -> str:
    """A topic with the records 0 … 9."""
    command("topics", "create", "cli-numbers", "--if-not-exists")
    if not command("consume", "cli-numbers").stdout:
        command("produce", "cli-numbers", stdin="".join(f"{n}\n" for n in range(10)))
    return "cli-numbers"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", ("offset", -2)),
        ("end", ("offset", -1)),
        ("42", ("offset", 42)),
        ("1970-01-01T00:00:01+00:00", ("time", 1000)),
    ],
)
def test_a_start_is_a_place_or_a_time(text: str, expected: tuple[str, int]) -> None:
    assert parse_start(text) == expected


def test_a_start_that_is_neither_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="neither"):
        parse_start("yesterday")


def test_reading_stops_at_the_end_or_at_a_count(command: Command, numbers: str) -> None:
    assert command("consume", numbers).stdout.split() == [str(n) for n in range(10)]
    assert command("consume", numbers, "-n", "3").stdout.split() == ["0", "1", "2"]
    assert command("consume", numbers, "--from", "7").stdout.split() == ["7", "8", "9"]
    assert command("consume", numbers, "--from", "end").stdout == ""


def test_reading_starts_at_a_time(command: Command, numbers: str) -> None:
    assert len(command("consume", numbers, "--from", "2020-01-01").stdout.split()) == 10
    assert command("consume", numbers, "--from", "2100-01-01").stdout == ""


def test_keys_are_shown_beside_values(command: Command, numbers: str) -> None:
    assert command("consume", numbers, "-n", "1", "--format", "key-value").stdout == "\t0\n"


def test_what_does_not_exist_is_named(command: Command, numbers: str) -> None:
    assert "no partition 9" in command("consume", numbers, "-p", "9").output
    assert command("consume", "cli-no-such-topic").exit_code == 1
