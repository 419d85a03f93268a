"""Tables, JSON and bars."""

import json

import pytest

from cli.output import print_json, print_table, progress_bar, text_of


def test_json_shows_bytes_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"key": b"k", "number": 1})
    assert json.loads(capsys.readouterr().out) == {"key": "k", "number": 1}


def test_a_table_into_a_pipe_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "count"), [("x" * 150, 1), (None, 2)])
    out = capsys.readouterr().out
    assert "x" * 150 in out
    assert "name" in out


@pytest.mark.parametrize(
    ("value", "text"), [(None, None), (b"caf\xc3\xa9", "café"), (b"\xff", "\\xff")]
)
def test_bytes_that_are_no_text_are_escaped(value: bytes | None, text: str | None) -> None:
    assert text_of(value) == text


def test_no_bar_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work", 10, "items") as advance:
        advance(5)
    assert capsys.readouterr().err == ""
