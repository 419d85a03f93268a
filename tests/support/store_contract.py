"""What every MetadataStore keeps; subclassed with a `stores` fixture for each backend.

`stores.open()` opens the store, again after a close or a `stores.kill()` (the process dies).
"""

from typing import Protocol

import pytest

from cluster.store.port import (
    BadVersion,
    Check,
    Create,
    Delete,
    EventKind,
    MetadataStore,
    NodeExists,
    NoNode,
    NotEmpty,
    Set,
    StoreClosed,
    WatchEvent,
)


class Stores(Protocol):
    async def open(self) -> MetadataStore: ...
    async def kill(self) -> None: ...


class StoreContract:
    async def test_a_created_node_is_read_back_at_version_zero(self, stores: Stores) -> None:
        store = await stores.open()
        assert await store.create("/a", b"x") == "/a"
        node = await store.get("/a")
        assert node is not None
        assert (node.data, node.version) == (b"x", 0)

    async def test_null_data_is_not_empty_data(self, stores: Stores) -> None:
        store = await stores.open()
        await store.create("/null")
        await store.create("/empty", b"")
        null, empty = await store.get("/null"), await store.get("/empty")
        assert null is not None
        assert null.data is None
        assert empty is not None
        assert empty.data == b""

    async def test_a_missing_node_is_none_and_has_no_children(self, stores: Stores) -> None:
        store = await stores.open()
        assert await store.get("/a") is None
        assert await store.subtree("/a") == {}
        with pytest.raises(NoNode):
            await store.children("/a")

    @pytest.mark.parametrize("path", ["", "a", "/a/", "//", "/a//b", "a/b"])
    async def test_what_is_no_path_is_a_programming_error(self, stores: Stores, path: str) -> None:
        store = await stores.open()
        with pytest.raises(ValueError, match="not a path"):
            await store.get(path)

    async def test_a_node_is_created_once_and_under_a_parent(self, stores: Stores) -> None:
        store = await stores.open()
        await store.create("/a")
        with pytest.raises(NodeExists):
            await store.create("/a")
        with pytest.raises(NodeExists):
            await store.create("/")
        with pytest.raises(NoNode):
            await store.create("/b/c")

    async def test_each_set_raises_the_version_and_checks_the_expected_one(
        self, stores: Stores
    ) -> None:
        store = await stores.open()
        await store.create("/a", b"0")
        assert await store.set("/a", b"1") == 1
        assert await store.set("/a", b"2", 1) == 2
        with pytest.raises(BadVersion):
            await store.set("/a", b"3", 1)
        with pytest.raises(NoNode):
            await store.set("/b", b"3")
        node = await store.get("/a")
        assert node is not None
        assert node.data == b"2"

    async def test_only_childless_nodes_of_the_expected_version_go(self, stores: Stores) -> None:
        store = await stores.open()
        await store.multi([Create("/a"), Create("/a/b")])
        with pytest.raises(NotEmpty):
            await store.delete("/a")
        with pytest.raises(BadVersion):
            await store.delete("/a/b", 3)
        await store.delete("/a/b", 0)
        await store.delete("/a")
        with pytest.raises(NoNode):
            await store.delete("/a")
        with pytest.raises(NotEmpty):
            await store.delete("/")

    async def test_children_are_direct_and_sorted(self, stores: Stores) -> None:
        store = await stores.open()
        await store.multi([Create("/b"), Create("/a"), Create("/a/2"), Create("/a/1")])
        await store.create("/a/1/deep")
        assert await store.children("/") == ["a", "b"]
        assert await store.children("/a") == ["1", "2"]
        assert await store.children("/b") == []

    async def test_a_subtree_is_the_node_and_all_below_it_alone(self, stores: Stores) -> None:
        store = await stores.open()
        await store.multi([Create("/a"), Create("/a/b", b"1"), Create("/a/b/c", b"2")])
        await store.multi([Create("/a.b"), Create("/a0"), Create("/a-x"), Create("/a-x/c")])
        found = await store.subtree("/a")
        assert {path: node.data for path, node in found.items()} == {
            "/a": None,
            "/a/b": b"1",
            "/a/b/c": b"2",
        }
        assert len(await store.subtree("/")) == 8

    async def test_a_multi_does_all_and_sees_its_own_work(self, stores: Stores) -> None:
        store = await stores.open()
        outcomes = await store.multi(
            [Create("/a", b"0"), Set("/a", b"1", 0), Check("/a", 1), Create("/a/b"), Delete("/a/b")]
        )
        assert outcomes == ["/a", 1, None, "/a/b", None]

    async def test_a_multi_with_one_refusal_does_nothing(self, stores: Stores) -> None:
        store = await stores.open()
        await store.create("/a", b"0")
        with pytest.raises(BadVersion) as refused:
            await store.multi([Set("/a", b"1"), Create("/b"), Check("/a", 7)])
        assert refused.value.index == 2
        assert refused.value.path == "/a"
        with pytest.raises(NodeExists) as exists:
            await store.multi([Create("/b"), Create("/b")])
        assert exists.value.index == 1
        node = await store.get("/a")
        assert node is not None
        assert (node.data, node.version) == (b"0", 0)
        assert await store.get("/b") is None

    async def test_sequential_nodes_count_in_their_parent_and_never_again(
        self, stores: Stores
    ) -> None:
        store = await stores.open()
        await store.create("/q")
        first = await store.create("/q/n_", sequential=True)
        await store.delete(first)
        second = await store.create("/q/n_", sequential=True)
        assert (first, second) == ("/q/n_0000000000", "/q/n_0000000001")
        assert await store.create("/r_", sequential=True) == "/r_0000000000"

    async def test_later_transactions_have_greater_numbers_also_after_reopening(
        self, stores: Stores
    ) -> None:
        store = await stores.open()
        await store.create("/a")
        await store.create("/b", ephemeral=True)
        a, b = await store.get("/a"), await store.get("/b")
        await store.close()
        store = await stores.open()
        await store.create("/b", ephemeral=True)
        again = await store.get("/b")
        assert a is not None
        assert b is not None
        assert again is not None
        assert a.created_by < b.created_by < again.created_by

    @pytest.mark.parametrize("by_kill", [False, True])
    async def test_ephemeral_nodes_end_with_their_client_and_others_stay(
        self, stores: Stores, by_kill: bool
    ) -> None:
        store = await stores.open()
        await store.create("/stays", b"x")
        await store.create("/goes", ephemeral=True)
        if by_kill:
            await stores.kill()
        else:
            await store.close()
        store = await stores.open()
        assert await store.get("/stays") is not None
        assert await store.get("/goes") is None

    async def test_a_closed_store_does_nothing_more(self, stores: Stores) -> None:
        store = await stores.open()
        await store.close()
        await store.close()
        with pytest.raises(StoreClosed):
            await store.get("/")
        with pytest.raises(StoreClosed):
            await store.create("/a")

    async def test_a_watch_tells_of_the_node_and_of_its_children(self, stores: Stores) -> None:
        store = await stores.open()
        events: list[WatchEvent] = []
        store.watch("/a", events.append)
        await store.create("/a")
        await store.set("/a", b"x")
        await store.create("/a/b")
        await store.set("/a/b", b"y")
        await store.delete("/a/b")
        await store.delete("/a")
        assert [event.kind for event in events] == [
            EventKind.CREATED,
            EventKind.CHANGED,
            EventKind.CHILDREN,
            EventKind.CHILDREN,
            EventKind.DELETED,
        ]
        assert {event.path for event in events} == {"/a"}

    async def test_the_root_is_watched_for_its_children(self, stores: Stores) -> None:
        store = await stores.open()
        events: list[WatchEvent] = []
        store.watch("/", events.append)
        await store.create("/a")
        assert events == [WatchEvent(EventKind.CHILDREN, "/")]

    async def test_a_change_is_told_before_its_call_returns_and_refusals_are_not(
        self, stores: Stores
    ) -> None:
        store = await stores.open()
        await store.create("/a")
        events: list[WatchEvent] = []
        store.watch("/a", events.append)
        with pytest.raises(NodeExists):
            await store.multi([Set("/a", b"1"), Create("/a")])
        assert events == []
        await store.set("/a", b"1")
        assert len(events) == 1

    async def test_an_ended_watch_is_silent(self, stores: Stores) -> None:
        store = await stores.open()
        events: list[WatchEvent] = []
        end = store.watch("/a", events.append)
        end()
        end()
        await store.create("/a")
        assert events == []
