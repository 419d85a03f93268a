"""The whole list of settings, against what Kafka 4.3.1 lists."""

import importlib
import re
from pathlib import Path

import pytest

from config.catalogue import AREAS, DEFAULTS, KEYS, find_key
from config.definition import (
    CLUSTER_WIDE,
    HONOURED,
    PER_BROKER,
    READ_ONLY,
    REFUSED,
    Key,
    to_text,
)
from config.group_config import GROUP_WORDS
from config.keys import client_metrics, one_group, topics
from config.keys.retired import RETIRED
from config.topic_config import BROKER_WORDS

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3-configs.tsv"
SCOPES = {"-": READ_ONLY, "cluster": CLUSTER_WIDE, "broker": PER_BROKER}
RESOURCES = {
    "TOPIC": topics.AREA.keys,
    "GROUP": one_group.AREA.keys,
    "CLIENT_METRICS": client_metrics.AREA.keys,
}
ROWS = [line.split("\t") for line in GOLDEN.read_text().splitlines() if line[0] != "#"]


DIFFERENT_ON_PURPOSE = {"socket.receive.buffer.bytes": "1048576"}
"""Defaults that are not Kafka's, each with its reason in docs/adr/0010."""


def _expected(resource: str) -> dict[str, tuple[str, str | None, str, bool]]:
    return {
        name: (
            type_.lower(),
            None
            if default in ("<null>", "<required>")
            else DIFFERENT_ON_PURPOSE.get(name, default),
            SCOPES.get(scope, READ_ONLY),
            sensitive == "y",
        )
        for row_resource, name, type_, default, scope, sensitive, *_ in ROWS
        if row_resource == resource
    }


def test_names_types_defaults_scopes_and_secrets_are_kafkas() -> None:
    declared = {
        key.name: (key.type, to_text(key.default), key.dynamic, key.sensitive)
        for key in KEYS.values()
        if not key.internal
    }
    own = {"metrics.dialects", "metrics.partition.limit"}
    assert {
        name: facts
        for name, facts in declared.items()
        if name not in own and not name.startswith("tidelog.")
    } == _expected("BROKER")


@pytest.mark.parametrize("resource", RESOURCES)
def test_keys_of_other_resources_are_kafkas(resource: str) -> None:
    declared = {
        key.name: (key.type, to_text(key.default), key.dynamic, key.sensitive)
        for key in RESOURCES[resource]
        if not key.internal
    }
    assert declared == _expected(resource)


def test_the_brokers_words_for_groups_are_kafkas() -> None:
    words = {row[1]: row[6].removeprefix("broker synonym ") for row in ROWS if row[0] == "GROUP"}
    assert {name: word or "" for name, word in GROUP_WORDS.items()} == words


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row[0] in ("BROKER", "TOPIC")],
    ids=lambda row: f"{row[0]}-{row[1]}",
)
def test_the_valid_range_is_kafkas(row: list[str]) -> None:
    resource, name, _type, _default, _scope, _sensitive, valid = row
    key = KEYS[name] if resource == "BROKER" else {k.name: k for k in topics.AREA.keys}[name]
    shown = key.check.text if key.check is not None else ""
    by_validator_only = ("non-null string", "non-empty list", "shown only when set")
    assert shown == ("" if valid in by_validator_only else valid)


def test_each_key_is_declared_once() -> None:
    names = [key.name for area in AREAS for key in area.keys]
    assert len(names) == len(set(names)) == len(DEFAULTS)
    assert not set(names) & set(RETIRED)


def test_each_key_has_a_short_doc_and_refused_ones_a_remedy() -> None:
    for key in (*KEYS.values(), *(key for keys in RESOURCES.values() for key in keys)):
        assert 10 < len(key.doc) < 100, key.name
        assert key.doc.endswith("."), key.name
        if key.status == REFUSED and key.name in KEYS:
            assert key.remedy, key.name


def test_each_default_passes_its_own_check() -> None:
    for key in (*KEYS.values(), *(key for keys in RESOURCES.values() for key in keys)):
        text = to_text(key.default)
        if text is not None:
            assert key.parse(text) == key.default, key.name


def test_a_key_is_found_behind_a_listener_prefix() -> None:
    assert find_key("listener.name.inside.ssl.key.password") is KEYS["ssl.key.password"]
    prefixed = "listener.name.inside.scram-sha-256.sasl.jaas.config"
    assert find_key(prefixed) is KEYS["sasl.jaas.config"]
    assert find_key("listener.name.inside.nothing") is None
    assert find_key("nothing") is None


def test_a_setting_said_to_be_honoured_is_read_somewhere() -> None:
    """Nothing a person asks for is silently left undone: else it is kept, or refused."""
    root = Path(__file__).parents[3]
    code = "\n".join(
        path.read_text()
        for package in ("broker", "cli", "cluster", "config", "storage")
        for path in (root / package).rglob("*.py")
        if path.parent != root / "config" / "keys"
    )
    by_topics = {word for words in BROKER_WORDS.values() for word, _unit in words}
    constants = {
        key.name: name
        for path in (root / "config" / "keys").glob("*.py")
        for name, key in vars(importlib.import_module(f"{topics.__package__}.{path.stem}")).items()
        if isinstance(key, Key) and path.stem != "__init__"
    }
    unread = {
        name
        for name, key in KEYS.items()
        if key.status == HONOURED
        and name not in by_topics
        and not re.search(rf"\.{constants[name]}\b", code)
    }
    assert unread == set()
