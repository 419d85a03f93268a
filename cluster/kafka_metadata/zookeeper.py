"""The thin part that talks to ZooKeeper: read the trees an image is made of, write a plan.

kazoo comes with the extra `zookeeper` and is imported here, when it is needed. Only what the
address alone reaches is spoken with: no TLS, no SASL.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from cluster.kafka_metadata.znode_tree import ROOTS
from cluster.store.port import (
    Create,
    Delete,
    Operation,
    Set,
    StartupRefused,
    StoreFailed,
    Znode,
)

if TYPE_CHECKING:
    from kazoo.client import KazooClient, TransactionRequest

CONNECT_SECONDS: Final = 15
MOST_OPERATIONS: Final = 1000
"""In one transaction: a request of theirs may have 1 MiB (jute.maxbuffer)."""


def fetch(address: str) -> dict[str, Znode]:
    """Every node an image is made of; StartupRefused when nobody answers at the address."""
    with _connected(address) as client:
        found: dict[str, Znode] = {}
        level = list(ROOTS)
        while level:
            level = _fetch_level(client, level, found)
        return found


def write(address: str, transactions: Sequence[Sequence[Operation]]) -> None:
    """Commit each group of operations as one transaction, in order; large ones in pieces.

    StoreFailed at the first that is refused; those before it stay, and what is written again is
    found to be so already.
    """
    with _connected(address) as client:
        for operations in transactions:
            for start in range(0, len(operations), MOST_OPERATIONS):
                _commit(client, operations[start : start + MOST_OPERATIONS])


def _commit(client: "KazooClient", operations: Sequence[Operation]) -> None:
    transaction = client.transaction()
    for operation in operations:
        _add(transaction, operation)
    for operation, result in zip(operations, transaction.commit(), strict=True):
        if isinstance(result, Exception):
            raise StoreFailed(f"{operation.path}: {result!r}")


@contextmanager
def _connected(address: str) -> "Iterator[KazooClient]":
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException
    from kazoo.handlers.threading import KazooTimeoutError

    client = KazooClient(hosts=address)
    try:
        client.start(timeout=CONNECT_SECONDS)
        yield client
    except (KazooException, KazooTimeoutError) as error:
        raise StartupRefused(
            f"ZooKeeper at {address}: {error or type(error).__name__}; is it running there?"
        ) from error
    finally:
        client.stop()
        client.close()


def _fetch_level(client: "KazooClient", paths: list[str], found: dict[str, Znode]) -> list[str]:
    """Take in these nodes, asked for together; the paths of their children."""
    from kazoo.exceptions import NoNodeError

    asked = [(path, client.get_async(path), client.get_children_async(path)) for path in paths]
    below = []
    for path, node, children in asked:
        try:
            data, stat = node.get()
            names = children.get()
        except NoNodeError:
            continue
        found[path] = Znode(data, stat.version, stat.czxid)
        below += [f"{path}/{name}" for name in names]
    return below


def _add(transaction: "TransactionRequest", operation: Operation) -> None:
    if isinstance(operation, Create):
        transaction.create(operation.path, operation.data or b"")
    elif isinstance(operation, Set):
        transaction.set_data(operation.path, operation.data or b"", operation.version)
    elif isinstance(operation, Delete):
        transaction.delete(operation.path, operation.version)
    else:
        transaction.check(operation.path, operation.version)
