"""The metadata store as the cluster sees it: a versioned tree with watches, as ZooKeeper has it.

Paths look like `/brokers/topics/orders`. A node has data (`None` is not `b""`), a data version
that starts at 0 and grows by one with every set, and the number of the transaction that created
it (ZooKeeper's czxid, which is a broker's epoch). Parents must exist. An ephemeral node lives
until its creator closes the store or dies. A sequential node gets ten decimal digits appended,
from a counter of its parent that no other child of it was given.

Every backend (one-broker SQLite, ZooKeeper, the fake of the tests) passes one contract suite.
All calls are awaitable and made on the loop; they take effect in the order they were made.
"""

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

ANY_VERSION = -1


class StoreError(Exception):
    """An operation was refused; `index` is its place in the multi that it came in."""

    def __init__(self, path: str, index: int = 0) -> None:
        super().__init__(path)
        self.path = path
        self.index = index


class NodeExists(StoreError):
    """There is a node at the path already."""


class NoNode(StoreError):
    """There is no node at the path, or a node to create has no parent."""


class BadVersion(StoreError):
    """The node's version is not the expected one: somebody else wrote."""


class NotEmpty(StoreError):
    """A node with children is not deleted."""


class StoreClosed(StoreError):
    """The store was closed before the operation could be done."""


class StoreFailed(StoreError):
    """The backend could not do it (disk full, read error); the text names the reason.

    Whether the change is there after a restart is not known, as after a lost connection.
    """


class StartupRefused(Exception):
    """The broker must not start on this store; one line that names the remedy."""


class Znode(NamedTuple):
    """A node as read."""

    data: bytes | None
    version: int
    created_by: int


class Create(NamedTuple):
    """Create a node whose parent exists; in a multi an earlier operation may make the parent."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False


class Set(NamedTuple):
    """Replace the data of a node."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Delete a node without children."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Do nothing but fail when the node's version is not the expected one."""

    path: str
    version: int


Operation = Create | Set | Delete | Check
Outcome = str | int | None


class EventKind(enum.Enum):
    """What happened to a watched node."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN = "children"


class WatchEvent(NamedTuple):
    """The watched path and what happened; CHILDREN: a child of it came or went."""

    kind: EventKind
    path: str


Watcher = Callable[[WatchEvent], None]


def split_path(path: str) -> tuple[str, str]:
    """Parent and name; the root is ("", "") and is the parent "" of its children.

    Raises ValueError for what is no path.
    """
    parent, slash, name = path.rpartition("/")
    if not slash or (not name and path != "/") or "//" in path or (parent and parent[0] != "/"):
        raise ValueError(f"not a path of the metadata store: {path!r}")
    return parent, name


class MetadataStore(Protocol):
    """A versioned tree."""

    async def get(self, path: str) -> Znode | None:
        """The node, or None."""

    async def children(self, path: str) -> list[str]:
        """Names of the direct children, sorted; NoNode when the node is not there."""

    async def subtree(self, path: str) -> dict[str, Znode]:
        """The node and everything below it by path, of one moment; empty without the node."""

    async def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
    ) -> str:
        """Create a node and return its path, which for a sequential one got longer."""

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> int:
        """Replace the data and return the new version."""

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Delete a node without children."""

    async def multi(self, operations: Sequence[Operation]) -> list[Outcome]:
        """Do all or none, as one transaction.

        Each operation sees what those before it did. The outcome of a create is its path, of a
        set the new version. The first refused operation raises, with its place as `index`.
        """

    def watch(self, path: str, watcher: Watcher) -> Callable[[], None]:
        """Call back on the loop for every change of the node, in the order of the commits.

        The node need not exist. A change is told before the call that made it returns. The
        result of this call ends the watch.
        """

    async def close(self) -> None:
        """Finish what was asked, remove this client's ephemeral nodes, let the store go."""
