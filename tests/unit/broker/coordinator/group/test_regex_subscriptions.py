"""Names that expressions match: the vectors are RE2/J 1.8's, which Kafka 4.3 compiles with."""

import pytest

from broker.coordinator.group import regex_subscriptions
from broker.coordinator.group.regex_subscriptions import MAX_LENGTH, TOO_LARGE, TopicPattern
from broker.coordinator.group.regex_syntax import InvalidPattern

NAMES = (
    "a b ab aab A orders orders-dlq __consumer_offsets a.b a_b 42 s k abcabc".split()  # noqa: SIM905
)
MATCHES = [
    ("a", "a"),
    ("4", ""),
    (".*", "a b ab aab A orders orders-dlq __consumer_offsets a.b a_b 42 s k abcabc"),
    ("", ""),
    ("a|b", "a b"),
    ("(?:a|b)+", "a b ab aab"),
    ("a*b", "b ab aab"),
    ("a+b", "ab aab"),
    ("a?b", "b ab"),
    ("a{2}b", "aab"),
    ("a{1,2}b", "ab aab"),
    ("a{2,}b", "aab"),
    ("a{,3}", ""),
    ("a{01}", ""),
    ("a{", ""),
    ("a{0}b", "b"),
    ("[ab]+", "a b ab aab"),
    ("[^a]", "b A s k"),
    ("[]a]", "a"),
    ("[^]a]", "b A s k"),
    ("[a-]", "a"),
    ("[a-c]*", "a b ab aab abcabc"),
    ("orders.*", "orders orders-dlq"),
    ("orders$", "orders"),
    ("^orders", "orders"),
    ("\\Aorders\\z", "orders"),
    ("orders\\b.*", "orders orders-dlq"),
    ("orders\\B.*", ""),
    ("\\b\\w+\\b", "a b ab aab A orders __consumer_offsets a_b 42 s k abcabc"),
    ("__.*", "__consumer_offsets"),
    ("a\\.b", "a.b"),
    ("a.b", "aab a.b a_b"),
    ("\\Qa.b\\E", "a.b"),
    ("\\Qa.b", "a.b"),
    ("a\\_b", "a_b"),
    ("\\d+", "42"),
    ("\\D", "a b A s k"),
    ("\\w+", "a b ab aab A orders __consumer_offsets a_b 42 s k abcabc"),
    ("\\W", ""),
    ("[\\d]+", "42"),
    ("[^\\d]+", "a b ab aab A orders orders-dlq __consumer_offsets a.b a_b s k abcabc"),
    ("[[:alpha:]]+", "a b ab aab A orders s k abcabc"),
    ("[[:^alpha:]]+", "42"),
    ("[[:digit:]_]+", "42"),
    ("\\pL+", "a b ab aab A orders s k abcabc"),
    ("\\p{Lu}", "A"),
    ("\\p{^Lu}", "a b s k"),
    ("\\PN", "a b A s k"),
    ("\\p{Latin}+", "a b ab aab A orders s k abcabc"),
    ("\\x61", "a"),
    ("\\x{61}", "a"),
    ("\\141", "a"),
    ("[^\\n\\t]", "a b A s k"),
    ("(?i)a", "a A"),
    ("(?i)AB", "ab"),
    ("(?i:a)B", ""),
    ("(?-i)a", "a"),
    ("(?i)[A]", "a A"),
    ("(?i)\\x{17F}", "s"),
    ("(?i)\\x{212A}", "k"),
    ("(?P<n>a)b", "ab"),
    ("(?<n>a)b", "ab"),
    ("(a)(b)", "ab"),
    ("(a|)b", "b ab"),
    ("()", ""),
    ("a*?", "a"),
    ("(?:a{10}){200}", ""),
    ("\xe9", ""),
    ("[^\xe9]", "a b A s k"),
    ("[a-\xe9]", "a b s k"),
    ("(abc)*", "abcabc"),
]


@pytest.mark.parametrize(("text", "matching"), MATCHES)
def test_whole_names_match_as_in_kafka(text: str, matching: str) -> None:
    pattern = TopicPattern(text)
    assert " ".join(pattern.among(NAMES)) == matching
    assert " ".join(pattern.among(NAMES)) == matching, "from what it has learnt"


def test_the_empty_name_is_matched_by_what_may_be_empty() -> None:
    assert TopicPattern("(a*|b)$").matches("")
    assert not TopicPattern("a").matches("")
    assert TopicPattern(r"\B").matches("")
    assert not TopicPattern(r"\b").matches("")


def test_no_name_beyond_ascii_is_matched() -> None:
    assert not TopicPattern(".*").matches("caf\u00e9")


@pytest.mark.parametrize("text", ["(a*)*b", "(a|aa)+b", "(a?){200}a{200}", "(.*)(.*)(.*)(.*)(.*)b"])
def test_what_makes_others_go_back_and_forth_for_ever_is_answered_at_once(text: str) -> None:
    assert not TopicPattern(text).matches("a" * 199)


def test_an_expression_that_needs_countless_states_forgets_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(regex_subscriptions, "KEPT_PLACES", 400)
    pattern = TopicPattern("(a|b)*a(a|b){5}")
    names = [f"{number:010b}".replace("0", "a").replace("1", "b") for number in range(1024)]
    expected = [name for name in names if name[-6] == "a"]
    assert pattern.among(names) == expected
    assert pattern.among(reversed(names)) == expected[::-1]


@pytest.mark.parametrize("text", ["a" * (MAX_LENGTH + 1), "[a-z]{1000}" * 5, "(a{1000}){1000}"])
def test_what_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(InvalidPattern, match=TOO_LARGE):
        TopicPattern(text)


def test_nothing_repeated_countless_times_is_nothing() -> None:
    nothing = "".join(["(" * 100, ")" + "){1000}" * 99])
    assert TopicPattern(nothing + "a").matches("a")
