"""Listeners: texts to endpoints, and the combinations Kafka refuses."""

import pytest

from config.definition import ConfigError
from config.listeners import (
    Endpoint,
    check_advertised,
    check_listeners,
    parse_address,
    parse_counts,
    parse_endpoints,
    parse_map,
)

PLAIN = {"A": "PLAINTEXT", "B": "PLAINTEXT", "S": "SSL"}


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("PLAINTEXT://localhost:9092", Endpoint("PLAINTEXT", "localhost", 9092)),
        ("plaintext://:0", Endpoint("PLAINTEXT", "", 0)),
        ("IN://[::1]:9092", Endpoint("IN", "::1", 9092)),
        ("IN://::1:9092", Endpoint("IN", "::1", 9092)),
    ],
)
def test_an_endpoint_is_name_host_and_port(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoints("listeners", [text]) == (endpoint,)


@pytest.mark.parametrize(
    "text",
    ["localhost:9092", "://h:1", "A://h", "A://h:x", "A://h:65536", "A://h:-1", "A://[h:1", ""],
)
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="Unable to parse it"):
        parse_endpoints("listeners", [text])


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    assert Endpoint("A", "::1", 1).address == "[::1]:1"
    assert Endpoint("A", "h", 1).address == "h:1"
    assert parse_address("k", "[::1]:9404") == ("::1", 9404)


def test_maps_and_counts_are_parted_at_the_last_colon() -> None:
    assert parse_map("k", "A:PLAINTEXT, B:SSL,") == {"A": "PLAINTEXT", "B": "SSL"}
    assert parse_counts("k", "h:3,[::1]:5") == {"h": 3, "::1": 5}
    for bad in ("A", "A:", ":A"):
        with pytest.raises(ConfigError):
            parse_map("k", bad)
    with pytest.raises(ConfigError, match="expected a count"):
        parse_counts("k", "h:many")


def test_listeners_need_own_names_and_ports_and_a_built_protocol() -> None:
    for endpoints, reason in (
        ([], "at least one"),
        ([Endpoint("A", "", 1), Endpoint("A", "", 2)], "a different name"),
        ([Endpoint("A", "h", 1), Endpoint("B", "h", 1)], "a different port"),
        ([Endpoint("A", "", 1), Endpoint("B", "::1", 1)], "a different port"),
        ([Endpoint("C", "", 1)], "No security protocol defined for listener C"),
        ([Endpoint("S", "", 1)], "not built yet"),
    ):
        with pytest.raises(ConfigError, match=reason):
            check_listeners("listeners", endpoints, PLAIN)


def test_listeners_may_share_port_zero_and_a_port_between_the_families() -> None:
    check_listeners("listeners", [Endpoint("A", "", 0), Endpoint("B", "", 0)], PLAIN)
    check_listeners("listeners", [Endpoint("A", "127.0.0.1", 9), Endpoint("B", "::1", 9)], PLAIN)


def test_advertised_addresses_must_be_reachable_and_listened_for() -> None:
    listeners = [Endpoint("A", "0.0.0.0", 1)]
    check_advertised("k", [Endpoint("A", "example.org", 1)], listeners)
    for endpoint, reason in (
        (Endpoint("A", "0.0.0.0", 1), "nonroutable meta-address 0.0.0.0"),
        (Endpoint("A", "::", 1), "nonroutable"),
        (Endpoint("B", "h", 1), "equal to or a subset"),
    ):
        with pytest.raises(ConfigError, match=reason):
            check_advertised("k", [endpoint], listeners)
