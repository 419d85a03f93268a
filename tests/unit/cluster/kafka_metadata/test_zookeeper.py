"""The shell around kazoo, on a client that keeps its nodes in a dictionary."""

from typing import Any, ClassVar, NamedTuple

import pytest
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from cluster.kafka_metadata.zookeeper import fetch, write
from cluster.store.port import Check, Create, Delete, Set, StartupRefused, StoreFailed


class Stat(NamedTuple):
    version: int
    czxid: int


class Answer(NamedTuple):
    value: Any

    def get(self) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


class Transaction:
    def __init__(self, calls: list[tuple[Any, ...]]) -> None:
        self._calls = calls
        self._results: list[Any] = []

    def __getattr__(self, verb: str) -> Any:
        def call(*arguments: Any) -> None:
            self._calls.append((verb, *arguments))
            exists = verb == "create" and arguments[0] == "/brokers"
            self._results.append(NodeExistsError() if exists else True)

        return call

    def commit(self) -> list[Any]:
        Client.commits += 1
        return self._results


class Client:
    """As much of KazooClient as is used."""

    nodes: ClassVar = {"/brokers": b"", "/brokers/ids": b"", "/config": b"x"}
    start_error: ClassVar[Exception | None] = None
    calls: ClassVar[list[tuple[Any, ...]]] = []

    commits: ClassVar[int] = 0

    def __init__(self, hosts: str) -> None:
        self.calls.clear()
        self.calls.append(("hosts", hosts))

    def start(self, timeout: float) -> None:
        if self.start_error is not None:
            raise self.start_error

    def stop(self) -> None:
        self.calls.append(("stop",))

    def close(self) -> None:
        self.calls.append(("close",))

    def get_async(self, path: str) -> Answer:
        if path in self.nodes:
            return Answer((self.nodes[path], Stat(3, 7)))
        return Answer(NoNodeError())

    def get_children_async(self, path: str) -> Answer:
        below = [one for one in self.nodes if one.rpartition("/")[0] == path]
        return Answer([one.rpartition("/")[2] for one in below])

    def transaction(self) -> Transaction:
        return Transaction(self.calls)


@pytest.fixture(autouse=True)
def client(monkeypatch: pytest.MonkeyPatch) -> type[Client]:
    monkeypatch.setattr("kazoo.client.KazooClient", Client)
    return Client


def test_every_node_below_the_roots_is_fetched(client: type[Client]) -> None:
    found = fetch("host:2181/kafka")
    assert found.keys() == client.nodes.keys()
    assert tuple(found["/config"]) == (b"x", 3, 7)
    assert client.calls[0] == ("hosts", "host:2181/kafka")
    assert client.calls[-2:] == [("stop",), ("close",)]


@pytest.mark.parametrize("error", [KazooTimeoutError("Connection time-out"), KazooException()])
def test_nobody_there_is_one_line(error: Exception, client: type[Client]) -> None:
    client.start_error = error
    try:
        with pytest.raises(StartupRefused, match=r"ZooKeeper at host:1: .*is it running there"):
            fetch("host:1")
    finally:
        client.start_error = None
    assert client.calls[-2:] == [("stop",), ("close",)]


def test_each_operation_is_said_in_zookeepers_words(client: type[Client]) -> None:
    write("host:1", [[Create("/a", None), Set("/b", b"x", 4)], [Delete("/c", 1), Check("/d", 2)]])
    assert client.calls[1:-2] == [
        ("create", "/a", b""),
        ("set_data", "/b", b"x", 4),
        ("delete", "/c", 1),
        ("check", "/d", 2),
    ]


def test_a_topic_of_many_partitions_is_written_in_pieces(client: type[Client]) -> None:
    client.commits = 0
    write("host:1", [[Create(f"/{number}", b"") for number in range(2_500)], []])
    assert client.commits == 3


def test_a_refused_operation_is_named() -> None:
    with pytest.raises(StoreFailed, match="/brokers: NodeExistsError"):
        write("host:1", [[Create("/brokers", b"")]])
