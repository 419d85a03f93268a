"""Connections are counted in all and by address."""

import pytest

from broker.network.connection_limits import ConnectionLimits, plain_host


def limits(in_all: int = 100, per_host: int = 2) -> ConnectionLimits:
    return ConnectionLimits(lambda: in_all, lambda: per_host, lambda: {"10.0.0.9": 0})


def test_an_address_over_its_limit_is_refused_until_one_of_its_connections_closes() -> None:
    counted = limits()
    assert counted.admit("10.0.0.1")
    assert counted.admit("10.0.0.1")
    assert not counted.admit("10.0.0.1")
    assert counted.admit("10.0.0.2")
    assert (counted.open, counted.refused) == (3, 1)
    counted.release("10.0.0.1")
    assert counted.admit("10.0.0.1")


def test_an_override_replaces_the_limit_of_its_address() -> None:
    counted = limits()
    assert not counted.admit("10.0.0.9")
    assert counted.refused == 1


def test_the_limit_in_all_is_live() -> None:
    allowed = [1]
    counted = ConnectionLimits(lambda: allowed[0], lambda: 10, dict)
    full = [counted.full]
    counted.admit("10.0.0.1")
    full.append(counted.full)
    allowed[0] = 2
    full.append(counted.full)
    assert full == [False, True, False]


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("fe80::1", "fe80::1"),
    ],
)
def test_ipv4_in_ipv6_clothes_is_the_same_address(address: str, host: str) -> None:
    assert plain_host(address) == host
