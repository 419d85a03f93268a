import pathlib

import pytest

from cluster import znodes
from cluster.store.embedded import EmbeddedStore
from cluster.store.opening import open_embedded_store
from cluster.store.port import Create, StartupRefused

ID = "fZSON9t1SVCaDJyFHjGfqw"


def new_id() -> str:
    return ID


async def test_a_first_start_makes_the_root_paths_with_null_data_and_an_id(
    tmp_path: pathlib.Path,
) -> None:
    store, cluster_id = await open_embedded_store(str(tmp_path / "s"), [], None, new_id)
    assert cluster_id == ID
    tree = await store.subtree("/")
    assert set(znodes.ROOT_PATHS) <= set(tree)
    assert all(node.data is None for path, node in tree.items() if path != znodes.CLUSTER_ID)
    await store.close()


async def test_a_first_start_keeps_the_id_that_the_directories_name(tmp_path: pathlib.Path) -> None:
    store, cluster_id = await open_embedded_store(str(tmp_path / "s"), [], "from-disk", new_id)
    assert cluster_id == "from-disk"
    await store.close()


async def test_a_later_start_reads_the_id(tmp_path: pathlib.Path) -> None:
    file = str(tmp_path / "s")
    await (await open_embedded_store(file, [], None, new_id))[0].close()
    store, cluster_id = await open_embedded_store(file, ["/d/t-0"], ID, lambda: "other")
    assert cluster_id == ID
    await store.close()


async def test_partitions_without_their_store_are_refused_and_nothing_is_made(
    tmp_path: pathlib.Path,
) -> None:
    directories = [f"/data/t-{n}" for n in range(7)]
    with pytest.raises(StartupRefused) as refused:
        await open_embedded_store(str(tmp_path / "s"), directories, ID, new_id)
    text = str(refused.value)
    assert "/data/t-0, /data/t-1" in text
    assert "and 2 more" in text
    assert "restore it from a backup, or move the partition directories away" in text
    assert "\n" not in text
    assert list(tmp_path.iterdir()) == []


async def test_partitions_with_an_empty_file_are_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "s").touch()
    with pytest.raises(StartupRefused, match="missing or empty"):
        await open_embedded_store(str(tmp_path / "s"), ["/d/t-0"], None, new_id)
    assert (tmp_path / "s").stat().st_size == 0


async def test_partitions_with_a_store_that_knows_no_cluster_are_refused(
    tmp_path: pathlib.Path,
) -> None:
    file = str(tmp_path / "s")
    await (await EmbeddedStore.open(file)).close()
    with pytest.raises(StartupRefused, match="is empty"):
        await open_embedded_store(file, ["/d/t-0"], ID, new_id)
    reopened = await EmbeddedStore.open(file)
    assert await reopened.children("/") == []
    await reopened.close()


@pytest.mark.parametrize("directories", [[], ["/d/t-0"]])
async def test_a_store_of_another_cluster_is_refused(
    tmp_path: pathlib.Path, directories: list[str]
) -> None:
    file = str(tmp_path / "s")
    await (await open_embedded_store(file, [], None, new_id))[0].close()
    with pytest.raises(StartupRefused, match=f"is of cluster {ID} but meta.properties names"):
        await open_embedded_store(file, directories, "other", new_id)


async def test_a_store_without_its_cluster_id_is_refused(tmp_path: pathlib.Path) -> None:
    file = str(tmp_path / "s")
    store = await EmbeddedStore.open(file)
    await store.multi([Create("/consumers")])
    await store.close()
    with pytest.raises(StartupRefused, match="restore a backup"):
        await open_embedded_store(file, [], None, new_id)
