"""tidelog log repair: what is right in damaged directories, copied into new ones."""

import os
from pathlib import Path
from typing import Any

import click

from cli.connection import json_option
from cli.offline import broker_running_on, choose, quiet_pipe
from cli.output import print_json, print_table, progress_bar
from runtime.disk import OsDisk
from storage.audit import live_partitions, log_bytes
from storage.repair_log_dir import (
    PARTIAL,
    DirectoryReport,
    repair_log_dir,
    repair_partition_directory,
)


@click.command("repair")
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    metavar="NEWDIR",
    help="Where the repaired copy goes; must not exist yet.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing, say what would be kept and lost.")
@json_option
@quiet_pipe
def command(source: Path, target: Path | None, dry_run: bool, as_json: bool) -> None:
    """Copy every batch of SOURCE that is whole and right to NEWDIR, and say which offsets are lost.

    SOURCE is a data directory, or one partition's directory in it; it is only read, and no broker
    may run on it. Indexes, snapshots, leader epochs and checkpoints are made anew. Offsets stay as
    they were: gaps are left where batches were damaged, and no lost offset is given out again. A
    replica that is whole on another broker is better than any repair.

    \b
    To put the result in place, the broker stopped:
      a data directory    mv data data.damaged && mv NEWDIR data
      a partition         mv data/orders-0 elsewhere/ && mv NEWDIR data/orders-0
    then start the broker, look at it, and keep what was moved away until you are sure. NEWDIR must
    lie on the same file system for this, and belong to the broker's user.

    Exit code 0 if nothing was lost, 1 if something was or the repair was refused.
    """
    if target is None and not dry_run:
        raise click.UsageError("say --to NEWDIR, or --dry-run")
    chosen = choose([source])
    disk = OsDisk()
    path = (chosen.log_dirs or chosen.partitions)[0]
    new = None if target is None or dry_run else os.path.abspath(target)
    _refuse(path, new, broker_running_on(chosen.parents))
    folders = chosen.partitions or live_partitions(disk, path)
    total = sum(log_bytes(disk, folder) for folder in folders)
    repair = repair_partition_directory if chosen.partitions else repair_log_dir
    with progress_bar("repair", total, "bytes") as advance:
        try:
            report = repair(disk, path, new, advance)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(
                f"{where}{error.strerror}; the source is untouched, remove {new}{PARTIAL}"
            ) from None
    if as_json:
        print_json(_document(report, path, new))
    else:
        _print(report, new)
    if report.lost:
        raise SystemExit(1)


def _refuse(path: str, new: str | None, running: int | None) -> None:
    """One line of error for whatever is in the way."""
    if running is not None:
        raise click.ClickException(f"a broker runs on {path} (process {running}): stop it first")
    if new is None:
        return
    for taken in (new, new + PARTIAL):
        if os.path.lexists(taken):
            raise click.ClickException(f"{taken} exists: name a directory that does not")
    if not os.path.isdir(os.path.dirname(new)):
        raise click.ClickException(f"{os.path.dirname(new)} is no directory")
    if Path(new).is_relative_to(path):
        raise click.ClickException(f"{new} lies in the source, which is only read")


def _document(report: DirectoryReport, path: str, new: str | None) -> dict[str, Any]:
    return {
        "source": path,
        "target": new,
        "lost_offsets": report.lost,
        "logs": [
            {**log._asdict(), "losses": [loss._asdict() for loss in log.losses]}
            for log in report.logs
        ],
        "left_out": [{"path": name, "reason": reason} for name, reason in report.left_out],
    }


def _print(report: DirectoryReport, new: str | None) -> None:
    losses = [
        (log.name, loss.first, loss.end - 1, loss.reason, loss.path, loss.position)
        for log in report.logs
        for loss in log.losses
    ]
    if losses:
        print_table(("log", "lost from", "to", "because", "file", "position"), losses)
    for log in report.logs:
        for note in log.notes:
            click.echo(f"{log.name}: {note}")
        if log.gaps:
            first, end = log.gaps[0]
            text = f"{len(log.gaps)} gaps without damage, the first at {first} to {end - 1}"
            click.echo(f"{log.name}: {text}: as compaction leaves them, else a file is missing")
    for path, reason in report.left_out:
        click.echo(f"left out: {path} ({reason})")
    batches = sum(log.batches for log in report.logs)
    nbytes = sum(log.nbytes for log in report.logs)
    verb = "would be kept" if new is None else f"kept in {new}"
    click.echo(
        f"{len(report.logs)} logs, {batches} batches, {nbytes:,} bytes {verb}; "
        f"{report.lost} offsets lost"
    )
