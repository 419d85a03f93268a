"""The contract of the metadata store, held by SQLite; and what only its thread can get wrong."""

import asyncio
import pathlib
import shutil
from collections.abc import AsyncIterator

import pytest

from cluster.store.embedded import EmbeddedStore
from cluster.store.port import Create, MetadataStore, Set, StartupRefused, StoreFailed
from tests.support.store_contract import StoreContract


class EmbeddedStores:
    """Opens one file; a kill leaves a copy of the file and its log as a dead process would."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder / "0"
        self.folder.mkdir()
        self.opened: list[EmbeddedStore] = []

    async def open(self) -> MetadataStore:
        store = await EmbeddedStore.open(str(self.folder / "store.sqlite"))
        self.opened.append(store)
        return store

    async def kill(self) -> None:
        copy = self.folder.with_name(f"{int(self.folder.name) + 1}")
        shutil.copytree(self.folder, copy)
        self.folder = copy


@pytest.fixture
async def stores(tmp_path: pathlib.Path) -> AsyncIterator[EmbeddedStores]:
    stores = EmbeddedStores(tmp_path)
    yield stores
    for store in stores.opened:
        await store.close()


class TestEmbeddedStoreKeepsTheContract(StoreContract):
    pass


async def test_calls_take_effect_in_the_order_made_without_awaiting(stores: EmbeddedStores) -> None:
    store = await stores.open()
    await store.create("/a")
    versions = await asyncio.gather(*(store.set("/a", b"%d" % n) for n in range(20)))
    assert versions == list(range(1, 21))


async def test_an_abandoned_call_is_still_done(stores: EmbeddedStores) -> None:
    store = await stores.open()
    call = asyncio.ensure_future(store.create("/a"))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await store.get("/a") is not None


async def test_a_failing_watcher_does_not_lose_the_answer(stores: EmbeddedStores) -> None:
    store = await stores.open()
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _, context: failures.append(context["exception"]))

    def fail(event: object) -> None:
        raise RuntimeError("watcher")

    store.watch("/a", fail)
    assert await store.create("/a") == "/a"
    assert len(failures) == 1


async def test_what_was_committed_survives_a_kill(stores: EmbeddedStores) -> None:
    store = await stores.open()
    await store.multi([Create("/a", b"0"), Set("/a", b"1")])
    await stores.kill()
    node = await (await stores.open()).get("/a")
    assert node is not None
    assert (node.data, node.version) == (b"1", 1)


async def test_a_second_process_is_refused(stores: EmbeddedStores) -> None:
    await stores.open()
    with pytest.raises(StartupRefused, match="in use by another process"):
        await stores.open()


async def test_a_read_that_sqlite_refuses_is_a_failure_of_the_store(
    stores: EmbeddedStores,
) -> None:
    store = await stores.open()
    assert isinstance(store, EmbeddedStore)
    await store._call(lambda tree, _: tree._connection.execute("DROP TABLE node"))
    with pytest.raises(StoreFailed, match="no such table"):
        await store.get("/")


async def test_a_write_that_sqlite_refuses_fails_alone(stores: EmbeddedStores) -> None:
    store = await stores.open()
    unencodable = "/\ud800"
    with pytest.raises((StoreFailed, UnicodeEncodeError)):
        await store.create(unencodable)
    assert await store.create("/a") == "/a"


def test_a_store_whose_loop_was_closed_ends_quietly(tmp_path: pathlib.Path) -> None:
    loop = asyncio.new_event_loop()
    store = loop.run_until_complete(EmbeddedStore.open(str(tmp_path / "s")))
    loop.close()
    store._queue.put((lambda tree, changes: tree.get("/"), None))  # type: ignore[arg-type]
    store._queue.put(None)
    store._thread.join(timeout=10)
    assert not store._thread.is_alive()
