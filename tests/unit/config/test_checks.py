"""Rules on values: what they accept, and Kafka's words for what they do not."""

import pytest

from config import checks


@pytest.mark.parametrize(
    ("check", "good"),
    [
        (checks.in_range(0, None), [0, 5]),
        (checks.in_range(None, 1), [1, -9, 0.5]),
        (checks.in_range(1, 17), [1, 17, None]),
        (checks.one_of("a", "b"), ["a", "b"]),
        (checks.one_of_in_any_case("RS256"), ["rs256", "RS256"]),
        (checks.members("compact", "delete"), [(), ("compact",), ("delete", "compact"), None]),
        (checks.members(may_be_empty=False), [("x",)]),
        (checks.non_empty(), ["x", None]),
        (checks.gzip_level(), [-1, 1, 9]),
        (checks.throttled_replicas(), [(), ("*",), ("0:1", "12:3")]),
    ],
)
def test_a_value_within_the_rule_has_no_fault(check: checks.Check, good: list[object]) -> None:
    assert [check.find_fault("k", value) for value in good] == [None] * len(good)


@pytest.mark.parametrize(
    ("check", "bad", "rule"),
    [
        (checks.in_range(0, None), -1, "Value must be at least 0"),
        (checks.in_range(1, 17), 18, "Value must be no more than 17"),
        (checks.one_of("a", "b"), "c", "String must be one of: a, b"),
        (
            checks.one_of_in_any_case("ES256", "RS256"),
            "x",
            "String must be one of (case insensitive): ES256, RS256",
        ),
        (
            checks.members("compact", "delete"),
            ("compact", "foo"),
            "String must be one of: compact, delete",
        ),
        (checks.members(), ("a", ""), "Configuration 'k' values must not be empty."),
        (
            checks.members(may_be_empty=False),
            (),
            "Configuration 'k' must not be empty. Valid values include: any non-empty value",
        ),
        (
            checks.members("a", may_be_empty=False),
            (),
            "Configuration 'k' must not be empty. Valid values include: [a]",
        ),
        (checks.non_empty(), "", "String must be non-empty"),
        (checks.gzip_level(), 0, "Value must be between 1 and 9 or equal to -1"),
        (
            checks.throttled_replicas(),
            ("0",),
            "k must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ],
)
def test_a_broken_rule_is_worded_as_kafka_words_it(
    check: checks.Check, bad: object, rule: str
) -> None:
    fault = check.find_fault("k", bad)
    assert fault is not None
    assert fault.rule == rule


def test_the_member_at_fault_is_named() -> None:
    fault = checks.members("compact", "delete").find_fault("k", ("compact", "foo"))
    assert fault is not None
    assert fault.value == "foo"


def test_ranges_are_shown_as_kafka_lists_them() -> None:
    assert checks.in_range(0, None).text == "[0,...]"
    assert checks.in_range(1, 17).text == "[1,...,17]"
    assert checks.in_range(None, 5).text == "[...,5]"


@pytest.mark.parametrize(
    "text", ["P1D", "PT5S", "P1DT2H3M4.5S", "PT0.S", "pt1h", "P+1D", "PT,5S".replace(",", "0,")]
)
def test_a_share_group_begins_so_long_ago(text: str) -> None:
    assert checks.offset_reset().find_fault("k", f"by_duration:{text}") is None


@pytest.mark.parametrize(
    "text",
    [
        "", "none", "EARLIEST", "by_duration", "by_duration:", "by_duration:P", "by_duration:PT",
        "by_duration:P1DT", "by_duration:-PT5S", "by_duration:PT-5S", "by_duration:5S",
        "by_duration:PT5S ", "BY_DURATION:PT5S",
    ],
)  # fmt: skip
def test_a_share_group_begins_nowhere_else(text: str) -> None:
    fault = checks.offset_reset().find_fault("k", text)
    assert fault is not None
    assert fault.rule == (
        f"Invalid value `{text}` for configuration k. The value must be either 'earliest', "
        "'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )
