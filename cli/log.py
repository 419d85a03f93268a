"""tidelog log: look into a data directory while no broker runs on it."""

import json
from collections.abc import Iterator
from pathlib import Path

import click

from cli.connection import json_option
from cli.dump import Item, dump_file
from cli.output import print_json, progress_bar
from runtime.disk import OsDisk
from storage.audit import audit_checkpoints, audit_partition
from storage.filenames import LIVE, parse_partition_directory_name


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


@command.command("verify")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def verify(directory: Path, as_json: bool) -> None:
    """Check everything that must hold in a data or partition directory; exit code 1 if not.

    Batches and checksums, offsets, indexes against a linear scan, producers, checkpoints. Stop the
    broker first: files it is writing may look wrong.
    """
    disk = OsDisk()
    partitions = partitions_below(directory)
    findings = [] if partitions == [directory] else audit_checkpoints(disk, str(directory))
    with progress_bar("verify", len(partitions), "partitions") as advance:
        for partition in partitions:
            findings += audit_partition(disk, str(partition))
            advance(1)
    if as_json:
        print_json([{"path": finding.path, "problem": finding.problem} for finding in findings])
    else:
        for finding in findings:
            click.echo(str(finding))
        noun = "partition" if len(partitions) == 1 else "partitions"
        click.echo(f"{len(partitions)} {noun} verified, {len(findings)} problems", err=True)
    if findings:
        raise SystemExit(1)


def partitions_below(directory: Path) -> list[Path]:
    """The directory itself if it is a partition's, else the live partition directories in it."""
    if any(directory.glob("*.log")):
        return [directory]
    return sorted(
        path for path in directory.iterdir() if path.is_dir() and _is_live_partition(path.name)
    )


def _is_live_partition(name: str) -> bool:
    parsed = parse_partition_directory_name(name)
    return parsed is not None and parsed.state == LIVE
