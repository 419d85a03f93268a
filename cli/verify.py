"""tidelog log verify: is everything in a data directory as it must be?"""

from pathlib import Path
from typing import Any

import click

from cli.connection import json_option
from cli.offline import (
    UNKNOWN,
    Chosen,
    TopicMetadata,
    broker_running_on,
    choose,
    quiet_pipe,
    topic_metadata,
)
from cli.output import print_json, print_table, progress_bar
from runtime.disk import OsDisk
from storage.audit import Question, audit_log_dirs, audit_partition, live_partitions, log_bytes
from storage.invariants.finding import Finding, Severity


@click.command("verify")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="DIR|PARTITION_DIR...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--deep", is_flag=True, help="Unpack compressed batches and look at their records.")
@json_option
@quiet_pipe
def command(paths: tuple[Path, ...], deep: bool, as_json: bool) -> None:
    """Check everything that must hold in data or partition directories, without writing a byte.

    Checksums, offsets, record counts and timestamps; every index entry against the batches;
    producer snapshots and aborted transactions against a replay; leader epochs, checkpoints,
    identities. Directories of one broker are best given together.

    Exit code 1 if something is wrong. What a start will mend by itself after an unclean stop, and
    leftovers, are told as info and are no fault. Beside a running broker the last segments, which
    move, are read as far as they reach and nothing is said of their indexes.
    """
    disk = OsDisk()
    chosen = choose(paths)
    running = broker_running_on(chosen.parents)
    if running is not None:
        text = f"a broker runs here (process {running}): what it is writing to is not judged"
        click.echo(text, err=True)
    metadata = topic_metadata(chosen.parents) if chosen.parents else UNKNOWN
    question = _question(metadata, deep, running is not None)
    folders = [folder for log_dir in chosen.log_dirs for folder in live_partitions(disk, log_dir)]
    folders += chosen.partitions
    total = sum(log_bytes(disk, folder) for folder in folders)
    with progress_bar("verify", total, "bytes") as advance:
        findings = _audit(disk, chosen, question, advance)
    if as_json:
        print_json(_document(findings, len(folders), total, running))
    else:
        _print(findings, len(folders), total, paths)
    if any(finding.severity >= Severity.WARNING for finding in findings):
        raise SystemExit(1)


def _question(metadata: TopicMetadata, deep: bool, running: bool) -> Question:
    return Question(
        running=running, deep=deep, topic_ids=metadata.ids, compacted=metadata.compacted
    )


def _audit(disk: OsDisk, chosen: Chosen, question: Question, advance: Any) -> list[Finding]:
    findings = audit_log_dirs(disk, chosen.log_dirs, question, advance)
    for partition in chosen.partitions:
        findings += audit_partition(disk, partition, question, advance)
    return sorted(findings, key=lambda finding: -finding.severity)


def _document(
    findings: list[Finding], partitions: int, nbytes: int, running: int | None
) -> dict[str, Any]:
    return {
        "partitions": partitions,
        "bytes": nbytes,
        "running_broker_pid": running,
        "findings": [
            {**finding._asdict(), "severity": finding.severity.name.lower()} for finding in findings
        ],
    }


def _print(findings: list[Finding], partitions: int, nbytes: int, paths: tuple[Path, ...]) -> None:
    if findings:
        print_table(
            ("", "file", "position", "offset", "what", "remedy"),
            [_row(finding, paths) for finding in findings],
        )
    problems = sum(finding.severity >= Severity.WARNING for finding in findings)
    noun = "partition" if partitions == 1 else "partitions"
    notes = len(findings) - problems
    noted = f", {notes} to know of" if notes else ""
    text = f"{partitions} {noun} verified ({nbytes:,} bytes), {problems} problems{noted}"
    click.echo(text, err=bool(findings))


def _row(finding: Finding, paths: tuple[Path, ...]) -> tuple[Any, ...]:
    shown = Path(finding.path)
    if len(paths) == 1 and shown.is_relative_to(paths[0].absolute()):
        shown = shown.relative_to(paths[0].absolute())
    return (
        finding.severity.name.lower(),
        shown,
        finding.position,
        finding.offset,
        finding.problem,
        finding.remedy,
    )
