"""Tables for people, JSON for programs, a progress bar where somebody is looking."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import click


def print_json(value: Any) -> None:
    """One JSON document, indented; bytes appear as text with escapes."""
    click.echo(json.dumps(value, indent=2, default=_readable))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Rows under their headings; numbers stand right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in rows) and bool(rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*["" if cell is None else str(cell) for cell in row])
    # Into a pipe a line is as long as it is: cut columns would mislead whoever parses them.
    width = None if sys.stdout.isatty() else 240
    Console(width=width, highlight=False).print(table)


class Progress(Protocol):
    """Told how much of the work is done."""

    def __call__(self, advanced: int) -> None:
        """So much more is done."""


@contextmanager
def progress_bar(title: str, total: int | None, unit: str) -> Iterator[Progress]:
    """A bar on standard error when it is a terminal, silence otherwise."""
    if not sys.stderr.isatty():
        yield lambda _advanced: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    amount: tuple[ProgressColumn, ...] = (MofNCompleteColumn(), TextColumn(unit))
    if unit == "bytes":
        amount = (DownloadColumn(), TransferSpeedColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *amount, TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda advanced: bar.advance(task, advanced)


def text_of(value: bytes | None) -> str | None:
    """Bytes as text; what is no UTF-8 appears as \\x escapes, null stays null."""
    return None if value is None else value.decode("utf-8", "backslashreplace")


def _readable(value: Any) -> Any:
    return text_of(value) if isinstance(value, bytes) else str(value)
