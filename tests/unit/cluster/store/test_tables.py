import pathlib
import sqlite3

import pytest

from cluster.store import tables
from cluster.store.port import Create, StartupRefused, StoreFailed
from cluster.store.tables import Tree


def test_a_new_file_has_the_root_alone(tmp_path: pathlib.Path) -> None:
    tree = Tree.open(str(tmp_path / "store"))
    assert list(tree.subtree("/")) == ["/"]
    assert tree.children("/") == []
    tree.close()


def test_a_close_folds_the_write_ahead_log_into_the_file(tmp_path: pathlib.Path) -> None:
    tree = Tree.open(str(tmp_path / "store"))
    tree.multi([Create("/a")], [])
    tree.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_every_commit_is_synchronous_also_after_ephemerals_were_removed(
    tmp_path: pathlib.Path,
) -> None:
    tree = Tree.open(str(tmp_path / "store"))
    tree.multi([Create("/a", ephemeral=True)], [])
    tree.remove_ephemerals()
    assert tree.get("/a") is None
    assert tree._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    tree.close()


def test_a_file_of_another_layout_is_refused_with_the_remedy(tmp_path: pathlib.Path) -> None:
    file = str(tmp_path / "store")
    Tree.open(file).close()
    connection = sqlite3.connect(file)
    connection.execute(f"PRAGMA user_version = {tables.SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(StartupRefused, match="layout version 2 and this Tidelog knows 1: start"):
        Tree.open(file)


def test_a_file_of_another_program_is_refused(tmp_path: pathlib.Path) -> None:
    file = str(tmp_path / "store")
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE something (x)")
    connection.close()
    before = pathlib.Path(file).read_bytes()
    with pytest.raises(StartupRefused, match="not a metadata store of Tidelog"):
        Tree.open(file)
    assert pathlib.Path(file).read_bytes() == before


def test_a_damaged_file_is_refused_and_kept(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "store"
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(StartupRefused, match="is damaged"):
        Tree.open(str(file))
    assert file.read_bytes() == b"no database" * 1000


def test_a_file_in_no_directory_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(StartupRefused, match="cannot open"):
        Tree.open(str(tmp_path / "nowhere" / "store"))


def test_a_failing_disk_is_told_and_leaves_the_tree_as_it_was(tmp_path: pathlib.Path) -> None:
    tree = Tree.open(str(tmp_path / "store"))
    (pages,) = tree._connection.execute("PRAGMA page_count").fetchone()
    tree._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFailed, match="full"):
        tree.multi([Create("/a"), Create("/a/b", b"x" * 100_000)], [])
    assert tree.get("/a") is None
    tree.multi([Create("/a")], [])
    tree.close()


def test_a_close_on_a_failing_disk_leaves_the_ephemerals_to_the_next_opening(
    tmp_path: pathlib.Path,
) -> None:
    tree = Tree.open(str(tmp_path / "store"))
    tree.multi([Create("/a", ephemeral=True)], [])
    tree._connection.execute("PRAGMA query_only = ON")
    tree.close()
    again = Tree.open(str(tmp_path / "store"))
    assert again.get("/a") is None
    again.close()
