"""Java's properties syntax, as java.util.Properties reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.properties import MalformedEscape, Property, parse_properties


def read(text: str) -> dict[str, str]:
    return {key: value for key, value, _line in parse_properties(text)}


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("a=b", "a", "b"),
        ("a:b", "a", "b"),
        ("a b", "a", "b"),
        ("  a \t= b c ", "a", "b c "),
        ("a", "a", ""),
        ("a=", "a", ""),
        ("a = = b", "a", "= b"),
        ("a\\=b=c", "a=b", "c"),
        ("a\\ b c", "a b", "c"),
        ("a=\\u0041\\t\\q\\\\", "a", "A\tq\\"),
        ("a=x\\\n   y", "a", "xy"),
        ("a=x\\\\\nb=1", "a", "x\\"),
        ("a=x\\", "a", "x"),
        ("a=1\r\nb=2", "a", "1"),
        ("a=1\rb=2", "b", "2"),
    ],
)
def test_one_setting_is_read_as_java_reads_it(text: str, key: str, value: str) -> None:
    assert read(text)[key] == value


def test_comments_and_blank_lines_are_no_settings() -> None:
    assert parse_properties("# a=1\n\n  ! b=2\n\t\nc=3\n#") == [Property("c", "3", 5)]


def test_a_comment_does_not_go_on_in_the_next_line() -> None:
    assert parse_properties("# a\\\nb=1") == [Property("b", "1", 2)]


def test_a_setting_is_numbered_by_the_line_it_begins_on() -> None:
    assert [p.line for p in parse_properties("a=1\\\n2\nb=3")] == [1, 3]


def test_the_last_of_two_values_holds() -> None:
    assert read("a=1\na=2") == {"a": "2"}


@pytest.mark.parametrize("bad", ["a=\\u12", "a=\\uzzzz", "\\u"])
def test_a_malformed_escape_names_its_line(bad: str) -> None:
    with pytest.raises(MalformedEscape) as caught:
        parse_properties(f"x=1\n{bad}")
    assert caught.value.line == 2


def escaped(text: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in map(ord, text))


@given(st.dictionaries(st.text(st.characters(max_codepoint=0xD7FF)), st.text(max_size=8)))
def test_what_is_written_escaped_comes_back(settings: dict[str, str]) -> None:
    settings = {
        key: "".join(letter for letter in value if ord(letter) < 0xD800)
        for key, value in settings.items()
        if key
    }
    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in settings.items())
    assert read(text) == settings


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        parse_properties(text)
    except MalformedEscape:
        pass
