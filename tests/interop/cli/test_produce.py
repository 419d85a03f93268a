"""tidelog produce, read back by tidelog consume."""

import json

import pytest

from cli.produce import Outgoing, parse_json_line, parse_line
from tests.interop.cli.conftest import Command


@pytest.mark.parametrize(
    ("line", "separator", "null", "expected"),
    [
        ("hello", None, None, Outgoing(None, b"hello", [])),
        ("a:b:c", ":", None, Outgoing(b"a", b"b:c", [])),
        ("a:NULL", ":", "NULL", Outgoing(b"a", None, [])),
        ("", None, None, Outgoing(None, b"", [])),
    ],
)
def test_a_line_is_a_value_or_a_key_and_a_value(
    line: str, separator: str | None, null: str | None, expected: Outgoing
) -> None:
    assert parse_line(line, separator, null) == expected


def test_a_json_line_says_everything_about_a_record() -> None:
    line = '{"key": "k", "value": {"a": 1}, "headers": {"h": "x"}, "partition": 3, "timestamp": 5}'
    assert parse_json_line(line) == Outgoing(b"k", b'{"a": 1}', [("h", b"x")], 3, 5)


@pytest.mark.parametrize("line", ["[1]", "{", '{"vlaue": 1}'])
def test_a_json_line_that_is_not_a_record_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_json_line(line)


def test_lines_arrive_with_keys_headers_and_tombstones(command: Command) -> None:
    command("topics", "create", "cli-produce")
    arguments = ("produce", "cli-produce", "-K", ":", "-H", "h=v", "--null", "-", "-z", "zstd")
    done = command(*arguments, stdin="k1:one\nk2:-\n")
    assert done.exit_code == 0, done.output
    got = [
        json.loads(line)
        for line in command("consume", "cli-produce", "--json").stdout.split("\n")
        if line
    ]
    assert [(r["offset"], r["key"], r["value"], r["headers"]) for r in got] == [
        (0, "k1", "one", [["h", "v"]]),
        (1, "k2", None, [["h", "v"]]),
    ]


def test_a_bad_line_is_named_by_its_number(command: Command) -> None:
    command("topics", "create", "cli-bad-line")
    bad = command("produce", "cli-bad-line", "-K", ":", stdin="a:b\nno separator\n")
    assert bad.exit_code == 1
    assert "line 2" in bad.output


def test_made_records_are_counted(command: Command) -> None:
    command("topics", "create", "cli-load")
    done = command("produce", "cli-load", "--count", "500", "--size", "10")
    assert "500 records acknowledged" in done.output
    assert len(command("consume", "cli-load").stdout.splitlines()) >= 500
