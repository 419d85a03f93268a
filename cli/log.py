"""tidelog log: look into a data directory while no broker runs on it."""

import json
from collections.abc import Iterator
from pathlib import Path

import click

from cli.connection import json_option
from cli.dump import Item, dump_file


@click.group(name="log")
def command() -> None:
    """Look into log files of Tidelog or Kafka, offline."""


def files_below(path: Path) -> list[Path]:
    """The file itself, or all files of a directory tree in the order of their names."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())


@command.command("dump")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--records", is_flag=True, help="The records of each batch too.")
@json_option
def dump(path: Path, records: bool, as_json: bool) -> None:
    """Batches, index entries, producers and checkpoints of a file or directory.

    With --json each item is one JSON object on a line of its own.
    """
    for file in files_below(path):
        shown = file.relative_to(path) if path.is_dir() else file
        items = dump_file(file, records)
        if as_json:
            for item in items:
                click.echo(json.dumps({"path": str(shown), **item}))
        else:
            _print_items(str(shown), items)


def _print_items(title: str, items: Iterator[Item]) -> None:
    first = next(items, None)
    if first is None:
        return
    click.echo(title)
    click.echo(f"  {readable(first)}")
    for item in items:
        click.echo(f"  {readable(item)}")


def readable(item: Item) -> str:
    """name=value pairs; what is unremarkable is left out."""
    if "line" in item:
        return str(item["line"])
    plain = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "headers": []}
    parts = []
    for name, value in item.items():
        if value is False and name != "crc_ok":
            continue
        if value is True:
            parts.append(name)
        elif not (name in plain and value == plain[name]):
            parts.append(f"{name}={value}")
    return " ".join(parts)
