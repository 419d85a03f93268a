"""The metadata store of a broker on its own: a SQLite file in its first log directory.

One thread owns the file and does what it is handed in order; a commit is an fsync that the loop
does not wait in. Results and watch events come back through the loop's own queue, in commit
order, events before the result of the call that caused them.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cluster.store.port import (
    ANY_VERSION,
    Create,
    Delete,
    Operation,
    Outcome,
    Set,
    StoreClosed,
    Watcher,
    Znode,
)
from cluster.store.tables import Tree
from cluster.store.watches import Change, Watches
from storage.filenames import METADATA_STORE_FILE

STORE_FILE = METADATA_STORE_FILE

T = TypeVar("T")
_Work = Callable[[Tree, list[Change]], object]
_Item = tuple[_Work, "asyncio.Future[Any]"] | None


class EmbeddedStore:
    """MetadataStore on one SQLite file; made by `open`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, file: str, first_nodes: Sequence[Operation] = ()
    ) -> None:
        self._loop = loop
        self._file = file
        self._first_nodes = first_nodes
        self._queue: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._watches = Watches()
        self._closed = False
        self._opened: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._run, name="metadata-store", daemon=True)

    @classmethod
    async def open(cls, file: str, first_nodes: Sequence[Operation] = ()) -> "EmbeddedStore":
        """Open the file, or make it with these nodes in it.

        StartupRefused when it is locked, damaged or not ours.
        """
        store = cls(asyncio.get_running_loop(), file, first_nodes)
        store._thread.start()
        await store._opened
        return store

    async def get(self, path: str) -> Znode | None:
        """As the port says."""
        return await self._call(lambda tree, _: tree.get(path))

    async def children(self, path: str) -> list[str]:
        """As the port says."""
        return await self._call(lambda tree, _: tree.children(path))

    async def subtree(self, path: str) -> dict[str, Znode]:
        """One range of the primary key, however much is below."""
        return await self._call(lambda tree, _: tree.subtree(path))

    async def create(
        self,
        path: str,
        data: bytes | None = None,
        *,
        ephemeral: bool = False,
        sequential: bool = False,
    ) -> str:
        """As the port says."""
        outcomes = await self.multi([Create(path, data, ephemeral, sequential)])
        return str(outcomes[0])

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> int:
        """As the port says."""
        outcome = (await self.multi([Set(path, data, version)]))[0]
        assert isinstance(outcome, int)
        return outcome

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """As the port says."""
        await self.multi([Delete(path, version)])

    async def multi(self, operations: Sequence[Operation]) -> list[Outcome]:
        """One SQLite transaction, one fsync."""
        frozen = list(operations)
        return await self._call(lambda tree, changes: tree.multi(frozen, changes))

    def watch(self, path: str, watcher: Watcher) -> Callable[[], None]:
        """As the port says."""
        return self._watches.add(path, watcher)

    async def close(self) -> None:
        """As the port says; a second close does nothing."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.shield(self._ended)
        self._thread.join()

    async def _call(self, work: Callable[[Tree, list[Change]], T]) -> T:
        if self._closed:
            raise StoreClosed(self._file)
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put((work, future))
        return await future

    def _run(self) -> None:
        """The thread: open, work until told to end, close."""
        try:
            tree = Tree.open(self._file, self._first_nodes)
        except BaseException as refused:
            self._post(_settle, self._opened, None, refused)
            return
        self._post(_settle, self._opened, None, None)
        while (item := self._queue.get()) is not None:
            work, future = item
            changes: list[Change] = []
            result: object = None
            error: BaseException | None = None
            try:
                result = work(tree, changes)
            except BaseException as raised:
                error = tree.failure(raised)
            self._post(self._deliver, changes, future, result, error)
        tree.close()
        self._post(_settle, self._ended, None, None)

    def _deliver(
        self,
        changes: list[Change],
        future: "asyncio.Future[Any]",
        result: object,
        error: BaseException | None,
    ) -> None:
        try:
            self._watches.tell(changes)
        finally:
            _settle(future, result, error)

    def _post(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # The loop was closed without closing the store: nobody waits any more.


def _settle(future: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
    """Complete a future that its waiter may have cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
