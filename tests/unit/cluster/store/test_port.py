"""The contract of the metadata store, held by the in-memory fake that other tests stand on."""

import pytest

from cluster.store.port import MetadataStore, split_path
from tests.support.fake_store import FakeStore
from tests.support.store_contract import StoreContract


class FakeStores:
    def __init__(self) -> None:
        self.store = FakeStore()

    async def open(self) -> MetadataStore:
        self.store = self.store.reopen()
        return self.store

    async def kill(self) -> None:
        pass


class TestFakeStoreKeepsTheContract(StoreContract):
    @pytest.fixture
    def stores(self) -> FakeStores:
        return FakeStores()


def test_a_path_is_split_into_parent_and_name() -> None:
    assert split_path("/a/b") == ("/a", "b")
    assert split_path("/a") == ("", "a")
    assert split_path("/") == ("", "")
