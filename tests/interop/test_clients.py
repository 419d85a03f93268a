"""Unmodified clients of four makers: what one sends, every one reads back as it was."""

import itertools

import pytest

from pytest_tidelog.broker import Broker
from tests.interop.clients import CLIENTS, CODECS, Client, Sent, available

BIG = bytes(range(256)) * 4000
"""About a megabyte; with the batch header just below max.message.bytes."""
TEXT_RECORDS = [
    Sent(b"key-1", b"value"),
    Sent(b"key-1", None),
    Sent(None, b"no key"),
    Sent(b"key-2", b"with headers", (("trace", b"abc"), ("trace", b"def"))),
    Sent("Schlüssel".encode(), "naïve ☃".encode()),
    *[Sent(f"k{number}".encode(), f"v{number}".encode() * 20) for number in range(30)],
]
BINARY_RECORDS = [
    Sent(b"", b""),
    Sent(b"\x00\xff", bytes(range(256)), (("empty", b""),)),
    Sent(b"big", BIG),
]
EMPTY_RECORD = [Sent(None, None)]
"""Only librdkafka lets one send neither key nor value."""
_numbers = itertools.count()


def records_for(client: Client) -> list[Sent]:
    """kcat sends text, and no null beside an empty value; a process a record, so fewer of them."""
    if client.name == "kcat":
        return TEXT_RECORDS[:6]
    return TEXT_RECORDS + BINARY_RECORDS + (EMPTY_RECORD if client.name == "confluent" else [])


def client_named(name: str) -> Client:
    if not available(name):
        pytest.skip(f"{name} is not installed")
    return CLIENTS[name]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", CLIENTS)
def test_records_come_back_as_they_were_sent(tidelog: Broker, name: str, codec: str) -> None:
    client = client_named(name)
    address, topic = tidelog.bootstrap_servers, f"clients-{name}-{codec}-{next(_numbers)}"
    client.create(address, topic)
    records = records_for(client)
    offsets = client.produce(address, topic, records, codec)
    assert offsets in ([], list(range(len(records))))
    assert client.fetch(address, topic, len(records)) == records


@pytest.mark.parametrize("codec", CODECS)
def test_every_client_reads_what_another_wrote(tidelog: Broker, codec: str) -> None:
    address, topic = tidelog.bootstrap_servers, f"mixed-{codec}-{next(_numbers)}"
    CLIENTS["confluent"].create(address, topic)
    expected: list[Sent] = []
    for client in CLIENTS.values():
        if available(client.name):
            records = TEXT_RECORDS[:6]
            client.produce(address, topic, records, codec)
            expected += records
    for client in CLIENTS.values():
        if available(client.name):
            assert client.fetch(address, topic, len(expected)) == expected, client.name


def test_a_client_that_only_produces_gets_its_topic_made(tidelog: Broker) -> None:
    topic = f"made-on-demand-{next(_numbers)}"
    offsets = CLIENTS["confluent"].produce(
        tidelog.bootstrap_servers, topic, [Sent(None, b"first")], "none"
    )
    assert offsets == [0]
