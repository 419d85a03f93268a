"""An expression means what Python's own engine takes it for, where both have the same syntax."""

import re
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from broker.coordinator.group.regex_subscriptions import TopicPattern
from broker.coordinator.group.regex_syntax import InvalidPattern

ATOMS = st.sampled_from(["a", "b", "-", r"\.", ".", "[ab]", "[^a]", r"\w", r"\W", r"\d", r"[\w.]"])
PLACES = st.sampled_from(["^", r"\A", r"\b", r"\B"])
SUFFIXES = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0}", "{2,}", "*?", "??"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.lists(inner, max_size=4).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map("|".join).map("({})".format)
        | st.tuples(inner.map("(?:{})".format), SUFFIXES).map("".join)
    )


@given(
    text=st.recursive(ATOMS | PLACES, larger, max_leaves=8),
    names=st.lists(st.text("ab-.1_", max_size=7), max_size=8),
)
def test_names_match_where_python_matches_them(text: str, names: list[str]) -> None:
    pattern = TopicPattern(text)
    for name in names:
        expected = re.fullmatch(text, name, re.ASCII) is not None
        if r"\B" in text and not name:
            continue  # Python 3.11 finds no \B in an empty text.
        assert pattern.matches(name) == expected


@given(text=st.text("ab(|)*+?{},12[]^-\\\\dwpQEbBzA.:$P<>iU\u00e9", max_size=15))
def test_any_text_is_an_expression_or_is_not(text: str) -> None:
    with suppress(InvalidPattern):
        assert TopicPattern(text).matches("a-b.1") in (True, False)
