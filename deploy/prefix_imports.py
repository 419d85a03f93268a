"""Prefix our own imports: how the checkout's folders become `tidelog.*` in a wheel.

In the checkout `from storage.epochs import …` is short and the folders are the packages; in
somebody's environment a module called `config` would be a bug. So the wheel is built from the same
files with every import of ours prefixed, found by syntax tree and changed in the text, so that
line numbers stay and comments live. docs/adr/0002-wheel-prefix.md weighs it against mapping.
"""

import ast
from collections.abc import Iterable

OURS = ("broker", "cli", "cluster", "config", "protocol", "runtime", "storage")
PREFIX = "tidelog."


class UnclearImport(ValueError):
    """An import that cannot be prefixed without changing the names it binds."""


def prefix_imports(source: str, filename: str) -> str:
    """The same source with imports of our packages prefixed; every other byte as it was."""
    lines = source.splitlines(keepends=True)
    edits = sorted(_edits(ast.parse(source, filename), filename), reverse=True)
    for row, column, old, new in edits:
        line = lines[row - 1].encode()
        if not line[column:].startswith(old.encode()):
            raise UnclearImport(f"{filename}:{row}: expected '{old}' at column {column}")
        lines[row - 1] = (
            line[:column] + new.encode() + line[column + len(old.encode()) :]
        ).decode()
    return "".join(lines)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in OURS


def _edits(tree: ast.AST, filename: str) -> Iterable[tuple[int, int, str, str]]:
    """(line, byte column, text there, text wanted) for each import of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module or ""):
            old = f"from {node.module}"
            yield node.lineno, node.col_offset, old, f"from {PREFIX}{node.module}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if not _is_ours(alias.name):
                    continue
                if alias.asname is None and "." in alias.name:
                    raise UnclearImport(
                        f"{filename}:{node.lineno}: 'import {alias.name}' binds its first part;"
                        f" write 'from … import …' or 'import {alias.name} as …'"
                    )
                bound = "" if alias.asname else f" as {alias.name}"
                yield alias.lineno, alias.col_offset, alias.name, f"{PREFIX}{alias.name}{bound}"
