"""What a setting's value must satisfy, as small values that refuse, and describe themselves.

A check answers None for a good value, else the rule that was broken, worded as Kafka 4.3 words it
(`ConfigDef.Range`, `ValidString`, `ValidList`; the levels of `GzipCompression`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Broken(NamedTuple):
    """A broken rule; `value` is the element at fault when the value is a list.

    `whole` tells that `rule` is Kafka's whole message, not the tail of "Invalid value …".
    """

    rule: str
    value: Any = None
    whole: bool = False


class Check(NamedTuple):
    """A rule on one value: `text` is how the documentation shows it.

    With `folds`, what a list has twice counts once, before anything else is looked at.
    """

    text: str
    find_fault: Callable[[str, Any], Broken | None]
    folds: bool = False


def in_range(low: float | None, high: float | None) -> Check:
    """Accept numbers from `low` to `high`, both inclusive; None leaves that side open."""

    def find_fault(_name: str, value: Any) -> Broken | None:
        if value is None:
            return None
        if low is not None and value < low:
            return Broken(f"Value must be at least {low}")
        if high is not None and value > high:
            return Broken(f"Value must be no more than {high}")
        return None

    left = "" if low is None else f"{low},"
    right = "" if high is None else f",{high}"
    return Check(f"[{left}...{right}]", find_fault)


def one_of(*choices: str) -> Check:
    """Accept exactly the given words."""

    def find_fault(_name: str, value: Any) -> Broken | None:
        if value in choices:
            return None
        return Broken("String must be one of: " + ", ".join(choices))

    return Check(f"[{', '.join(choices)}]", find_fault)


def one_of_in_any_case(*choices: str) -> Check:
    """Accept the given words, however they are capitalised."""

    def find_fault(_name: str, value: Any) -> Broken | None:
        if value is not None and value.upper() in choices:
            return None
        return Broken("String must be one of (case insensitive): " + ", ".join(choices))

    return Check(f"(case insensitive) [{', '.join(choices)}]", find_fault)


def members(*choices: str, may_be_empty: bool = True) -> Check:
    """Accept lists without empty members, duplicates folded; with choices, of those words only."""

    def find_fault(name: str, value: Any) -> Broken | None:
        if value is None:
            return None
        if not value and not may_be_empty:
            valid = f"[{', '.join(choices)}]" if choices else "any non-empty value"
            return Broken(
                f"Configuration '{name}' must not be empty. Valid values include: {valid}",
                None,
                True,
            )
        for member in value:
            if not member:
                return Broken(f"Configuration '{name}' values must not be empty.", None, True)
            if choices and member not in choices:
                return Broken("String must be one of: " + ", ".join(choices), member)
        return None

    return Check(f"[{', '.join(choices)}]" if choices else "", find_fault, folds=True)


def non_empty() -> Check:
    """Accept any text but the empty one."""

    def find_fault(_name: str, value: Any) -> Broken | None:
        return Broken("String must be non-empty") if value == "" else None

    return Check("non-empty string", find_fault)


def gzip_level() -> Check:
    """Accept 1 to 9, and -1 for the library's own choice."""

    def find_fault(_name: str, value: Any) -> Broken | None:
        if value == -1 or 1 <= value <= 9:
            return None
        return Broken("Value must be between 1 and 9 or equal to -1")

    return Check("[1,...,9] or -1", find_fault)


def offset_reset() -> Check:
    """Accept the places where a share group may begin; a duration is ISO 8601's, not negative."""

    def find_fault(name: str, value: Any) -> Broken | None:
        if value in ("earliest", "latest") or _is_duration_ago(value):
            return None
        return Broken(
            f"Invalid value `{value}` for configuration {name}. The value must be either "
            "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )

    return Check("[earliest, latest, by_duration:PnDTnHnMn.nS]", find_fault)


def _is_duration_ago(text: str) -> bool:
    import re  # for share groups alone

    days, times = r"\+?P(?=[0-9T+])(\+?[0-9]+D)?", r"(\+?[0-9]+H)?(\+?[0-9]+M)?"
    pattern = rf"{days}(T(?=[0-9+]){times}(\+?[0-9]+([.,][0-9]{{0,9}})?S)?)?"
    word, _, duration = text.partition(":")
    return word == "by_duration" and re.fullmatch(pattern, duration, re.IGNORECASE) is not None


def throttled_replicas() -> Check:
    """Accept `*` or a list of `partition:broker` pairs."""

    def is_pair(text: str) -> bool:
        left, colon, right = text.strip().partition(":")
        return not text.strip() or (bool(colon) and left.isdecimal() and right.isdecimal())

    form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

    def find_fault(name: str, value: Any) -> Broken | None:
        if "".join(value) == "*" or all(is_pair(text) for text in value):
            return None
        rule = f"{name} must be the literal '*' or a list of replicas in the following format: "
        return Broken(rule + form, f"[{', '.join(value)}]")

    return Check(form, find_fault)
