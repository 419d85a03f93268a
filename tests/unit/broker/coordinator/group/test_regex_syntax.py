"""What expressions mean, and in which words others are refused: RE2/J 1.8's, which clients see."""

import pytest

from broker.coordinator.group.regex_characters import mask_of
from broker.coordinator.group.regex_syntax import (
    MAX_DEPTH,
    TOO_DEEP,
    Assertion,
    AssertionKind,
    Characters,
    Choice,
    InvalidPattern,
    Repeat,
    Sequence,
    parse,
)

A, B = Characters(mask_of("a")), Characters(mask_of("b"))
REFUSED = [
    ("a**", "invalid nested repetition operator"),
    ("a*??", "invalid nested repetition operator"),
    ("*", "missing argument to repetition operator"),
    ("|*", "missing argument to repetition operator"),
    ("(*)", "missing argument to repetition operator"),
    ("(", "missing closing )"),
    ("a)", "unexpected )"),  # RE2's words; RE2/J calls it an internal error
    ("[", "missing closing ]"),
    ("a[", "missing closing ]"),
    ("[a", "missing closing ]"),
    ("[z-a]", "invalid character class range"),
    ("[[:foo:]]", "invalid character class range"),
    ("\\", "trailing backslash at end of expression"),
    ("\\1", "invalid escape sequence"),
    ("\\8", "invalid escape sequence"),
    ("\\C", "invalid escape sequence"),
    ("\\Z", "invalid escape sequence"),
    ("\\pX", "invalid character class range"),
    ("\\p{Foo}", "invalid character class range"),
    ("\\p{L", "invalid character class range"),
    ("\\x", "invalid escape sequence"),
    ("\\x4", "invalid escape sequence"),
    ("\\x{110000}", "invalid escape sequence"),
    ("(?=a)", "invalid or unsupported Perl syntax"),
    ("(?!a)", "invalid or unsupported Perl syntax"),
    ("(?<=a)", "invalid named capture"),
    ("(?P<n", "invalid named capture"),
    ("(?P<a-b>c)", "invalid named capture"),
    ("(?P<n>a)(?P<n>b)", "duplicate capture group name"),
    ("(?z)", "invalid or unsupported Perl syntax"),
    ("a{2}{3}", "invalid nested repetition operator"),
    ("a{1001}", "invalid repeat count"),
    ("a{2,1}", "invalid repeat count"),
    ("(?", "invalid or unsupported Perl syntax"),
    ("(?i", "invalid or unsupported Perl syntax"),
    ("a{*", "invalid nested repetition operator"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refusals_are_in_the_words_of_kafka(text: str, message: str) -> None:
    with pytest.raises(InvalidPattern) as refusal:
        parse(text)
    assert str(refusal.value) == message


def test_operators_bind_to_the_item_before_them() -> None:
    assert parse("ab*") == Sequence((A, Repeat(B, 0, None)))
    assert parse("(ab)+?") == Repeat(Sequence((A, B)), 1, None)
    assert parse("a{2,5}|b") == Choice((Repeat(A, 2, 5), B))
    assert parse("a??") == Repeat(A, 0, 1)


def test_nothing_is_an_empty_sequence() -> None:
    assert parse("") == Sequence(())
    assert parse("(a|)") == Choice((A, Sequence(())))


def test_flags_last_to_the_end_of_their_group() -> None:
    both = Characters(mask_of("aA"))
    assert parse("a(?i)a|a") == Choice((Sequence((A, both)), both))
    assert parse("((?i)a)a") == Sequence((both, A))
    assert parse("(?i:a)a") == Sequence((both, A))
    assert parse("(?i)a(?-i)a(?i-s)a") == Sequence((both, A, both))


def test_places_are_assertions() -> None:
    kinds = [AssertionKind.BEGIN, AssertionKind.WORD_BOUNDARY, AssertionKind.END]
    assert parse(r"^\b$") == Sequence(tuple(map(Assertion, kinds)))
    assert parse(r"\A\b\z") == parse(r"^\b$")


def test_groups_in_each_other_have_a_limit() -> None:
    assert parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH) == A
    with pytest.raises(InvalidPattern, match=TOO_DEEP):
        parse("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1))
