"""The metadata store as dictionaries, for tests of what stands on it.

It can be told to die at the n-th change: that change and everything after it raises StoreDied, and
`reopen` gives the store that a restarted broker would find. Read by its tests and by crash tests.
"""

from collections.abc import Callable, Sequence

from cluster.store.port import (
    ANY_VERSION,
    BadVersion,
    Check,
    Create,
    Delete,
    EventKind,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    Outcome,
    Set,
    StoreClosed,
    StoreError,
    Watcher,
    Znode,
    split_path,
)
from cluster.store.watches import Change, Watches


class StoreDied(BaseException):
    """The process was killed here; no code under test may catch it."""


class _Node:
    def __init__(self, data: bytes | None, created_by: int, ephemeral: bool) -> None:
        self.data = data
        self.version = 0
        self.created_by = created_by
        self.ephemeral = ephemeral
        self.next_sequence = 0

    def copy(self) -> "_Node":
        twin = _Node(self.data, self.created_by, self.ephemeral)
        twin.version = self.version
        twin.next_sequence = self.next_sequence
        return twin


class FakeStore:
    """MetadataStore in memory. `changes` counts committed transactions."""

    def __init__(self, nodes: dict[str, _Node] | None = None, transactions: int = 0) -> None:
        self._nodes = nodes if nodes is not None else {"/": _Node(None, 0, False)}
        self._transactions = transactions
        self._watches = Watches()
        self._closed = False
        self.changes = 0
        self.dies_at: int | None = None
        self.dies_after_commit = False

    def reopen(self) -> "FakeStore":
        """The store after the death or the close of its only client."""
        nodes = {path: node.copy() for path, node in self._nodes.items() if not node.ephemeral}
        return FakeStore(nodes, self._transactions)

    async def get(self, path: str) -> Znode | None:
        self._check_open()
        split_path(path)
        node = self._nodes.get(path)
        return None if node is None else Znode(node.data, node.version, node.created_by)

    async def children(self, path: str) -> list[str]:
        self._check_open()
        if path not in self._nodes:
            raise NoNode(path)
        return sorted(self._children(path))

    async def subtree(self, path: str) -> dict[str, Znode]:
        self._check_open()
        below = "/" if path == "/" else path + "/"
        return {
            found: Znode(node.data, node.version, node.created_by)
            for found, node in self._nodes.items()
            if found == path or found.startswith(below)
        }

    async def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
    ) -> str:
        return str((await self.multi([Create(path, data, ephemeral, sequential)]))[0])

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> int:
        outcome = (await self.multi([Set(path, data, version)]))[0]
        assert isinstance(outcome, int)
        return outcome

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([Delete(path, version)])

    async def multi(self, operations: Sequence[Operation]) -> list[Outcome]:
        self._check_open()
        if self.dies_at == self.changes and not self.dies_after_commit:
            raise StoreDied
        before = {path: node.copy() for path, node in self._nodes.items()}
        self._transactions += 1
        events: list[Change] = []
        outcomes: list[Outcome] = []
        for index, operation in enumerate(operations):
            try:
                outcomes.append(self._do(operation, events))
            except (StoreError, ValueError) as error:
                self._nodes = before
                self._transactions -= 1
                if isinstance(error, StoreError):
                    error.index = index
                raise
        self.changes += 1
        if self.dies_at == self.changes - 1:
            raise StoreDied
        self._watches.tell(events)
        return outcomes

    def watch(self, path: str, watcher: Watcher) -> Callable[[], None]:
        return self._watches.add(path, watcher)

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("fake")

    def _children(self, path: str) -> list[str]:
        above = "" if path == "/" else path
        return [name for parent, name in map(split_path, self._nodes) if name and parent == above]

    def _do(self, operation: Operation, events: list[Change]) -> Outcome:
        if isinstance(operation, Create):
            return self._create(operation, events)
        node = self._nodes.get(operation.path)
        if node is None:
            split_path(operation.path)
            raise NoNode(operation.path)
        if operation.version not in (ANY_VERSION, node.version):
            raise BadVersion(operation.path)
        if isinstance(operation, Check):
            return None
        if isinstance(operation, Set):
            node.data = operation.data
            node.version += 1
            events.append((EventKind.CHANGED, operation.path))
            return node.version
        if self._children(operation.path) or operation.path == "/":
            raise NotEmpty(operation.path)
        del self._nodes[operation.path]
        events.append((EventKind.DELETED, operation.path))
        return None

    def _create(self, operation: Create, events: list[Change]) -> str:
        path = operation.path
        parent, _ = split_path(path)
        above = self._nodes.get(parent or "/")
        if above is None:
            raise NoNode(parent)
        if operation.sequential:
            path = f"{path}{above.next_sequence:010d}"
            above.next_sequence += 1
        if path in self._nodes:
            raise NodeExists(path)
        self._nodes[path] = _Node(operation.data, self._transactions, operation.ephemeral)
        events.append((EventKind.CREATED, path))
        return path
