"""Where the two brokers may differ, and why. Nothing else is looked away from.

A step is named by a pattern, a field by a pattern of its path; `plain.py` has the values that every
broker makes up for itself.
"""

import re
from typing import Any, NamedTuple

from tests.kafka_tools.plain import Difference
from tests.kafka_tools.talker import NoAnswer


class Allowed(NamedTuple):
    """Patterns that must match whole, and the reason."""

    step: str
    path: str
    why: str


ALLOWED = (
    Allowed(
        r"api-versions-.*",
        r"\.(supported_features|finalized_features|finalized_features_epoch)",
        "features are those of the control plane, which is not KRaft",
    ),
    Allowed(
        r"create-config-(spaces|many|plus|float)",
        r"\.topics\.configs\.value",
        "Kafka tells a setting as it was written, we as it is understood",
    ),
    Allowed(
        r"(produce-same-partition-twice|fetch-all-of-c-repeated-v12)",
        r".*",
        "Kafka appends one batch of a partition named twice and drops the other, we append both",
    ),
    Allowed(
        r"(list-offsets-twice-v9|delete-records-empty-topic-v2)",
        r"\.topics\.partitions",
        "a partition asked for twice is answered twice",
    ),
    Allowed(
        r"describe-configs-twice-v4",
        r"\.results\.error_code",
        "a resource asked for twice is described once and then refused; Kafka repeats itself",
    ),
    Allowed(
        r"produce-damaged-(garbage|zeros|magic-.*|length-negative)",
        r".*\.error_message",
        "no words where the code says it all",
    ),
    Allowed(
        r"(produce-damaged-inner-offsets-gap-gzip|fetch-kept-of-inner-offset.*)",
        r".*",
        "inner offsets that are not 0..n-1 are put right; Kafka keeps them, or trips over them",
    ),
    Allowed(
        r"(fetch-partition-bytes--1|fetch-bytes--1|fetch-isolation-5|list-offsets-isolation-7)-v.*",
        r".*",
        "a negative size counts as none and an unknown isolation level as none; Kafka trips",
    ),
    Allowed(
        r"list-offsets-all-cut--3-v9",
        r".*",
        "Kafka tells an offset below the log start for the newest of records all deleted",
    ),
    Allowed(
        r"(client-id-not-utf8|array-minus-two)",
        r"",
        "strings that are not UTF-8, and lengths below -1, are malformed; Java reads past them",
    ),
)


def reason_for(step: str, difference: Difference) -> str | None:
    """Why this difference is as it should be; None where it is not."""
    if difference.path.endswith("error_code") and difference.theirs == -1 != difference.ours != 0:
        return "Kafka trips over the request with an exception that it did not foresee"
    if difference.theirs is NoAnswer.SILENT and not isinstance(difference.ours, NoAnswer):
        return "Kafka trips so badly that it never answers"
    if difference.path == ".api_keys" and _is_part(difference.ours, difference.theirs):
        return "not every API is served yet; those that are have Kafka's versions"
    for allowed in ALLOWED:
        if re.fullmatch(allowed.step, step) and re.fullmatch(allowed.path, difference.path):
            return allowed.why
    return None


def _is_part(ours: list[Any], theirs: list[Any]) -> bool:
    return all(api in theirs for api in ours)
