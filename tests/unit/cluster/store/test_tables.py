import os
import pathlib
import sqlite3
from typing import Any

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


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("blank", [False, True])
def test_a_store_whose_making_was_killed_is_made_anew(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, blank: bool
) -> None:
    """Stopped at each step that touches the disk outside SQLite, and with what SQLite left."""
    steps = ("connect", "fsync", "replace", "fsync", "none")
    for stop in range(len(steps)):
        file = tmp_path / f"store-{stop}"
        if blank:
            file.touch()
        pathlib.Path(f"{file}{tables.MAKING}").write_bytes(b"half of a database")
        pathlib.Path(f"{file}{tables.MAKING}-wal").write_bytes(b"half of a log")
        left = [stop]

        def step(original: Any, left: list[int] = left) -> Any:
            def call(*args: Any, **options: Any) -> Any:
                if not left[0]:
                    raise Killed
                left[0] -= 1
                return original(*args, **options)

            return call

        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "connect", step(sqlite3.connect))
            patched.setattr(os, "fsync", step(os.fsync))
            patched.setattr(os, "replace", step(os.replace))
            with pytest.raises(Killed):
                Tree.open(str(file), [Create("/a", b"1")])
        was_made = file.exists() and file.stat().st_size > 0
        assert was_made == (stop >= 3), steps[stop]
        tree = Tree.open(str(file), [Create("/a", b"1")])
        assert list(tree.subtree("/")) == ["/", "/a"]
        tree.close()
        assert [path.name for path in tmp_path.glob(f"{file.name}*")] == [file.name]


def test_a_new_store_is_synced_before_it_has_its_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    fsync, replace = os.fsync, os.replace

    def synced(fd: int) -> None:
        steps.append(os.readlink(f"/proc/self/fd/{fd}").rpartition("/")[2])
        fsync(fd)

    def replaced(source: str, target: str) -> None:
        steps.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    Tree.open(str(tmp_path / "store")).close()
    assert steps == [f"store{tables.MAKING}", "replace", tmp_path.name]


def test_the_log_of_a_store_that_is_gone_is_not_taken_for_the_new_ones(
    tmp_path: pathlib.Path,
) -> None:
    file = tmp_path / "store"
    old = Tree.open(str(file))
    old.multi([Create("/old")], [])
    kept = pathlib.Path(f"{file}-wal").read_bytes()
    old.close()
    file.unlink()
    pathlib.Path(f"{file}-wal").write_bytes(kept)
    tree = Tree.open(str(file), [Create("/new")])
    assert tree.children("/") == ["new"]
    tree.close()
