"""The versioned tree as rows of one SQLite table; synchronous, used by one thread.

    node(parent, name | data, version, created_by, ephemeral, next_sequence)   key (parent, name)
    counter(transactions)                                                      one row

A node's path is parent + "/" + name; the root is ("", ""). Since "0" follows "/" in ASCII, all
below /a are the rows with parent = "/a" or "/a/" <= parent < "/a0": one range of the primary key.

PRAGMA user_version is the version of this layout and application_id tells our files from others.

Write-ahead log: a commit is one fsync (0.16 ms where a rollback journal took four and 0.6 ms).
With locking_mode=EXCLUSIVE there is no shared-memory file and a second process is kept out.
synchronous=FULL: what was committed survives a power cut. Ephemeral nodes that a crash left are
removed when the store is opened, without an fsync: were that lost, the next opening does it again.

A new file is made whole under another name, synced once, and renamed: before that there is no
store, after it there is one with its first nodes; the steps of SQLite's own making would each sync.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
    StartupRefused,
    StoreError,
    StoreFailed,
    Znode,
    split_path,
)
from cluster.store.watches import Change

if TYPE_CHECKING:
    import sqlite3

SCHEMA_VERSION = 1
APPLICATION_ID = 0x54444C47
MAKING = ".making"
"""Suffix of a store that is not whole yet."""

_SCHEMA = (
    """CREATE TABLE node (
        parent TEXT NOT NULL, name TEXT NOT NULL, data BLOB, version INTEGER NOT NULL,
        created_by INTEGER NOT NULL, ephemeral INTEGER NOT NULL, next_sequence INTEGER NOT NULL,
        PRIMARY KEY (parent, name)) WITHOUT ROWID""",
    "CREATE TABLE counter (transactions INTEGER NOT NULL)",
    "INSERT INTO counter VALUES (0)",
    "INSERT INTO node VALUES ('', '', NULL, 0, 0, 0, 0)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


class Tree:
    """The open file. Only the thread that opened it may use it."""

    def __init__(self, connection: "sqlite3.Connection", file: str) -> None:
        self._connection = connection
        self._file = file
        self._transaction = 0

    @classmethod
    def open(cls, file: str, first_nodes: Sequence[Operation] = ()) -> "Tree":
        """Open the file; StartupRefused when it is not ours to use.

        One that is missing or has no bytes is made, with `first_nodes` in it.
        """
        import sqlite3

        try:
            if not _has_bytes(file):
                _make(file, first_nodes)
            connection = sqlite3.connect(file, timeout=0, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise StartupRefused(_cannot_open(file, error)) from error
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            is_new = _check_layout(connection, file)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            if is_new:
                _write_all(connection, _SCHEMA)
            tree = cls(connection, file)
            tree.remove_ephemerals()
        except sqlite3.Error as error:
            connection.close()
            raise StartupRefused(_cannot_open(file, error)) from error
        except StartupRefused:
            connection.close()
            raise
        return tree

    def get(self, path: str) -> Znode | None:
        """The node at the path."""
        row = self._connection.execute(
            "SELECT data, version, created_by FROM node WHERE parent = ? AND name = ?",
            split_path(path),
        ).fetchone()
        return None if row is None else Znode(*row)

    def children(self, path: str) -> list[str]:
        """Names of the direct children, sorted."""
        if self.get(path) is None:
            raise NoNode(path)
        rows = self._connection.execute(
            "SELECT name FROM node WHERE parent = ? AND name <> '' ORDER BY name",
            (_as_parent(path),),
        )
        return [name for (name,) in rows]

    def subtree(self, path: str) -> dict[str, Znode]:
        """The node and everything below it."""
        top = self.get(path)
        if top is None:
            return {}
        parent = _as_parent(path)
        rows = self._connection.execute(
            "SELECT parent, name, data, version, created_by FROM node"
            " WHERE (parent = ? OR (parent >= ? AND parent < ?)) AND name <> ''",
            (parent, parent + "/", parent + "0"),
        )
        found = {path: top}
        for above, name, data, version, created_by in rows:
            found[f"{above}/{name}"] = Znode(data, version, created_by)
        return found

    def multi(self, operations: "list[Operation]", changes: list[Change]) -> list[Outcome]:
        """Do all or none in one transaction; what changed is added to `changes`."""

        execute = self._connection.execute
        outcomes: list[Outcome] = []
        try:
            execute("BEGIN IMMEDIATE")
            execute("UPDATE counter SET transactions = transactions + 1")
            (self._transaction,) = execute("SELECT transactions FROM counter").fetchone()
            for index, operation in enumerate(operations):
                try:
                    outcomes.append(self._do(operation, changes))
                except StoreError as error:
                    error.index = index
                    raise
            execute("COMMIT")
        except BaseException as error:
            changes.clear()
            if self._connection.in_transaction:
                execute("ROLLBACK")
            failure = self.failure(error)
            if failure is error:
                raise
            raise failure from error
        return outcomes

    def failure(self, error: BaseException) -> BaseException:
        """What the caller is told of an error: SQLite's own as StoreFailed, others as they are."""
        import sqlite3

        return StoreFailed(f"{self._file}: {error}") if isinstance(error, sqlite3.Error) else error

    def remove_ephemerals(self) -> None:
        """Forget nodes whose creator is gone; durable with the next commit."""
        execute = self._connection.execute
        if execute("SELECT 1 FROM node WHERE ephemeral LIMIT 1").fetchone() is None:
            return
        execute("PRAGMA synchronous = NORMAL")
        execute("DELETE FROM node WHERE ephemeral")
        execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Remove what lives until now; SQLite folds its write-ahead log into the file."""
        import sqlite3

        try:
            self.remove_ephemerals()
        except sqlite3.Error:
            pass  # The next opening removes them.
        self._connection.close()

    def _do(self, operation: Operation, changes: list[Change]) -> Outcome:
        if isinstance(operation, Create):
            return self._create(operation, changes)
        if isinstance(operation, Set):
            return self._set(operation, changes)
        if isinstance(operation, Delete):
            self._delete(operation, changes)
        else:
            self._current_version(operation)
        return None

    def _create(self, operation: Create, changes: list[Change]) -> str:
        import sqlite3

        path = operation.path
        parent, name = split_path(path)
        execute = self._connection.execute
        above = split_path(parent or "/")
        row = execute(
            "SELECT next_sequence FROM node WHERE parent = ? AND name = ?", above
        ).fetchone()
        if row is None:
            raise NoNode(parent)
        if operation.sequential:
            execute(
                "UPDATE node SET next_sequence = next_sequence + 1 WHERE parent = ? AND name = ?",
                above,
            )
            name = f"{name}{row[0]:010d}"
            path = f"{parent}/{name}"
        values = (parent, name, operation.data, self._transaction, operation.ephemeral)
        try:
            execute("INSERT INTO node VALUES (?, ?, ?, 0, ?, ?, 0)", values)
        except sqlite3.IntegrityError as error:
            raise NodeExists(path) from error
        changes.append((EventKind.CREATED, path))
        return path

    def _set(self, operation: Set, changes: list[Change]) -> int:
        version = self._current_version(operation) + 1
        self._connection.execute(
            "UPDATE node SET data = ?, version = ? WHERE parent = ? AND name = ?",
            (operation.data, version, *split_path(operation.path)),
        )
        changes.append((EventKind.CHANGED, operation.path))
        return version

    def _delete(self, operation: Delete, changes: list[Change]) -> None:
        path = operation.path
        if path == "/":
            raise NotEmpty(path)
        self._current_version(operation)
        execute = self._connection.execute
        if execute("SELECT 1 FROM node WHERE parent = ? LIMIT 1", (path,)).fetchone() is not None:
            raise NotEmpty(path)
        execute("DELETE FROM node WHERE parent = ? AND name = ?", split_path(path))
        changes.append((EventKind.DELETED, path))

    def _current_version(self, operation: Set | Delete | Check) -> int:
        row = self._connection.execute(
            "SELECT version FROM node WHERE parent = ? AND name = ?", split_path(operation.path)
        ).fetchone()
        if row is None:
            raise NoNode(operation.path)
        if operation.version not in (ANY_VERSION, row[0]):
            raise BadVersion(operation.path)
        return int(row[0])


def _as_parent(path: str) -> str:
    return "" if path == "/" else path


def _check_layout(connection: "sqlite3.Connection", file: str) -> bool:
    """Whether the file is new; StartupRefused when another program or version laid it out."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not tables and owner in (0, APPLICATION_ID):
        return True
    if owner != APPLICATION_ID:
        raise StartupRefused(
            f"{file} is not a metadata store of Tidelog: move it away,"
            f" or point log.dirs at another directory"
        )
    if version != SCHEMA_VERSION:
        raise StartupRefused(
            f"{file} has layout version {version} and this Tidelog knows {SCHEMA_VERSION}:"
            f" start the Tidelog that wrote it, or a newer one"
        )
    return False


def _write_all(connection: "sqlite3.Connection", statements: tuple[str, ...]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements:
        connection.execute(statement)
    connection.execute("COMMIT")


def _has_bytes(file: str) -> bool:
    try:
        return os.path.getsize(file) > 0
    except FileNotFoundError:
        return False


def _make(file: str, first_nodes: Sequence[Operation]) -> None:
    """Make a store with these nodes, durable once it has its name; a kill before leaves none."""
    import sqlite3

    aside = file + MAKING
    # What a making that was killed left, and a log that would be taken for the new file's own.
    for leftover in (aside, f"{aside}-wal", f"{file}-wal"):
        if os.path.exists(leftover):
            os.unlink(leftover)
    connection = sqlite3.connect(aside, timeout=0, isolation_level=None)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        _write_all(connection, _SCHEMA)
        if first_nodes:
            Tree(connection, aside).multi(list(first_nodes), [])
    finally:
        connection.close()
    _sync(aside)
    os.replace(aside, file)
    _sync(os.path.dirname(file) or ".")


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _cannot_open(file: str, error: Exception) -> str:
    text = str(error)
    directory = os.path.dirname(file) or "."
    if "locked" in text:
        return f"{file} is in use by another process: stop it, or point log.dirs elsewhere"
    if "not a database" in text or "malformed" in text:
        return f"{file} is damaged ({text}): restore it from a backup of {directory}"
    if "full" in text:
        return f"cannot open {file} ({text}): free some space on the disk of {directory}"
    return f"cannot open {file} ({text}): check that this user may write {directory}, and its space"
