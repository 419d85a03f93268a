"""tidelog log dump: what lies in the files of a data directory, one item a line."""

import fnmatch
import json
from collections.abc import Iterator
from pathlib import Path

import click

from cli.connection import json_option
from cli.log_items import Item, Wanted, dump_file
from cli.offline import quiet_pipe

_LARGEST = (1 << 63) - 1
_UNREMARKABLE: Item = {
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "delete_horizon": -1,
    "headers": [],
}


@click.command("dump")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="PATH...",
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--records", is_flag=True, help="The records of each batch too.")
@click.option(
    "--offset",
    "offsets",
    metavar="N|FIRST-LAST",
    callback=lambda _ctx, _param, text: parse_offsets(text),
    help="Only what has these offsets: one with its records, a range, or an open one (5-, -9).",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="TOPIC-N",
    help="Only directories of this name (* and ? allowed); repeatable.",
)
@json_option
@quiet_pipe
def command(
    paths: tuple[Path, ...],
    records: bool,
    offsets: tuple[int, int],
    partitions: tuple[str, ...],
    as_json: bool,
) -> None:
    """Batches, records, index entries, producers, checkpoints, epochs and ids in files.

    Records of __consumer_offsets and __transaction_state are decoded; so is the metadata store.
    Filters by offset choose among batches, records and index entries. With --json each item is one
    JSON object on a line of its own.

    Exit code 1 if something could not be read: an item with `error` says what and where, and what
    can be read behind it follows.
    """
    first, last = offsets
    wanted = Wanted(records or first == last, first, last)
    damaged = False
    for path in paths:
        for file in files_below(path):
            if partitions and not _is_of(file, partitions):
                continue
            shown = str(file.relative_to(path) if path.is_dir() else file)
            damaged |= _print(shown, dump_file(file, wanted), as_json)
    if damaged:
        raise SystemExit(1)


def parse_offsets(text: str | None) -> tuple[int, int]:
    """First and last offset, inclusive, of `7`, `5-9`, `5-`, `-9` or nothing, which is all."""
    if text is None:
        return 0, _LARGEST
    first, dash, last = text.partition("-")
    try:
        if not dash:
            return int(first), int(first)
        return int(first or 0), int(last or _LARGEST)
    except ValueError:
        raise click.BadParameter(f"'{text}' is neither an offset nor FIRST-LAST") from None


def files_below(path: Path) -> list[Path]:
    """The file itself, or all files of a directory tree in the order of their names."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())


def _is_of(file: Path, partitions: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(file.absolute().parent.name, name) for name in partitions)


def _print(title: str, items: Iterator[Item], as_json: bool) -> bool:
    """Print them under the file's name; whether one of them is an error."""
    damaged = False
    first = True
    for item in items:
        damaged |= "error" in item
        if as_json:
            click.echo(json.dumps({"path": title, **item}))
            continue
        if first:
            click.echo(title)
            first = False
        click.echo(f"  {readable(item)}")
    return damaged


def readable(item: Item) -> str:
    """name=value pairs; what is unremarkable is left out, what would move a cursor is escaped."""
    if "line" in item:
        return _printable(item["line"])
    parts = []
    for name, value in item.items():
        if value is False and name != "crc_ok":
            continue
        if value is True:
            parts.append(name)
        elif not (name in _UNREMARKABLE and value == _UNREMARKABLE[name]):
            parts.append(f"{name}={_printable(value)}")
    return " ".join(parts)


def _printable(value: object) -> str:
    text = str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode()
