"""tidelog log estimate: what retention and cleaning would remove, now or under other settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from cli.connection import json_option
from cli.offline import TopicMetadata, broker_running_on, choose, quiet_pipe, topic_metadata
from cli.output import print_json, print_table, progress_bar
from config.definition import ConfigError
from config.topic_config import LogConfig, log_config, validate_topic_overrides
from protocol.model import TopicPartition
from runtime.clock import SystemClock
from runtime.disk import OsDisk
from storage.audit import live_partitions, log_bytes
from storage.checkpoints import OffsetCheckpoint
from storage.errors import CorruptFileError
from storage.estimate import Estimate, KnownOffsets, Terms, estimate_log
from storage.filenames import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    parse_partition_directory_name,
)

COMPACTED_BY_NATURE = ("__consumer_offsets", "__transaction_state")


class Row(NamedTuple):
    """One partition's answer."""

    partition: str
    estimate: Estimate

    @property
    def retained_away(self) -> int:
        """Bytes that retention removes."""
        return sum(removal.nbytes for removal in self.estimate.removals)


@click.command("estimate")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="DIR|PARTITION_DIR...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A topic setting to suppose for every topic, above its own; repeatable.",
)
@click.option(
    "--server-properties",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The broker's settings, for topics that do not set theirs; else defaults.",
)
@json_option
@quiet_pipe
def command(
    paths: tuple[Path, ...], settings: tuple[str, ...], server_properties: str | None, as_json: bool
) -> None:
    """What retention and log cleaning would remove from data or partition directories.

    Settings of topics are read from the metadata store in the directory, where there is one.
    Nothing is written, and a broker may run. Partitions that are cleaned are read through; beyond
    two million keys the figures for cleaning come from a sample, which is said. The last segment
    goes only when all of a log has expired: a broker rolls it first.
    """
    supposed = _supposed(settings)
    broker = _broker_config(server_properties)
    chosen = choose(paths)
    metadata = topic_metadata(chosen.parents)
    disk = OsDisk()
    folders = [folder for log_dir in chosen.log_dirs for folder in live_partitions(disk, log_dir)]
    folders += chosen.partitions
    if broker_running_on(chosen.parents) is not None:
        click.echo("a broker runs here: offsets are those of its last checkpoints", err=True)
    known = {parent: _Checkpoints(disk, parent) for parent in chosen.parents}
    now_ms = SystemClock().now_ms()
    rows = []
    total = sum(log_bytes(disk, folder) for folder in folders)
    with progress_bar("estimate", total, "bytes") as advance:
        for folder in folders:
            parent, _, name = folder.rpartition("/")
            offsets = known[parent].of(name)
            config = _config_of(name, offsets, metadata, supposed, broker)
            terms = Terms(config, offsets, now_ms)
            rows.append(Row(name, estimate_log(disk, folder, terms, advance)))
    if as_json:
        print_json(_document(rows))
    else:
        _print(rows)


def _supposed(settings: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for item in settings:
        key, equals, value = item.partition("=")
        if not equals:
            raise click.BadParameter(f"'{item}' is not KEY=VALUE", param_hint="--config")
        found[key.strip()] = value.strip()
    try:
        validate_topic_overrides(found)
    except ConfigError as error:
        raise click.BadParameter(error.message, param_hint="--config") from None
    return found


def _broker_config(file: str | None) -> Any:
    from config.broker_config import BrokerConfig
    from config.loading import load

    if file is None:
        return BrokerConfig({})
    try:
        return load(file, {})
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="--server-properties") from None


def _config_of(
    name: str,
    offsets: KnownOffsets,
    metadata: TopicMetadata,
    supposed: Mapping[str, str],
    broker: Any,
) -> LogConfig:
    """How the topic is kept: what is supposed, over its own, over the broker's settings.

    A topic of which no metadata is there counts as compacted if it was cleaned before.
    """
    parsed = parse_partition_directory_name(name)
    topic = parsed.topic if parsed is not None else name
    own = dict(metadata.configs.get(topic, {}))
    was_cleaned = topic not in metadata.ids and offsets.first_dirty_offset is not None
    if topic in COMPACTED_BY_NATURE or was_cleaned:
        own.setdefault("cleanup.policy", "compact")
    return log_config(broker, {**own, **supposed})


class _Checkpoints:
    """The checkpoints of one log directory; one that cannot be read says nothing."""

    def __init__(self, disk: OsDisk, log_dir: str) -> None:
        self._starts, self._marks, self._dirty = (
            _offsets(disk, log_dir, name)
            for name in (
                LOG_START_OFFSET_CHECKPOINT,
                HIGH_WATERMARK_CHECKPOINT,
                CLEANER_CHECKPOINT,
            )
        )

    def of(self, name: str) -> KnownOffsets:
        """What they say of the log in the directory of this name."""
        parsed = parse_partition_directory_name(name)
        if parsed is None:
            return KnownOffsets()
        partition = TopicPartition(parsed.topic, parsed.partition)
        return KnownOffsets(
            self._starts.get(partition), self._marks.get(partition), self._dirty.get(partition)
        )


def _offsets(disk: OsDisk, log_dir: str, name: str) -> dict[TopicPartition, int]:
    try:
        return OffsetCheckpoint(disk, log_dir, name).read()
    except (CorruptFileError, OSError) as error:
        click.echo(f"left out: {error}", err=True)
        return {}


def _document(rows: list[Row]) -> dict[str, Any]:
    logs = []
    for row in rows:
        cleaning = row.estimate.cleaning
        item: dict[str, Any] = {
            "partition": row.partition,
            "segments": row.estimate.segments,
            "bytes": row.estimate.nbytes,
            "retention": [removal._asdict() for removal in row.estimate.removals],
            "cleaning": None,
        }
        if cleaning is not None:
            item["cleaning"] = {
                **cleaning._asdict(),
                "dirt": {**cleaning.dirt._asdict(), "ratio": cleaning.dirt.ratio},
            }
        logs.append(item)
    return {
        "bytes": sum(row.estimate.nbytes for row in rows),
        "retention_bytes": sum(row.retained_away for row in rows),
        "cleaning_bytes": sum(
            row.estimate.cleaning.dropped_bytes for row in rows if row.estimate.cleaning
        ),
        "logs": logs,
    }


def _print(rows: list[Row]) -> None:
    columns = (
        "partition", "segments", "bytes", "retention removes", "segments", "because",
        "dirty", "cleaned now", "cleaning drops", "records", "of",
    )  # fmt: skip
    print_table(columns, [_cells(row) for row in rows])
    cleanings = [row.estimate.cleaning for row in rows if row.estimate.cleaning is not None]
    click.echo(
        f"{sum(row.estimate.nbytes for row in rows):,} bytes in {len(rows)} partitions: retention "
        f"removes {sum(row.retained_away for row in rows):,}, cleaning drops "
        f"{sum(cleaning.dropped_bytes for cleaning in cleanings):,}"
    )
    sampled = min((cleaning.sampled for cleaning in cleanings), default=1.0)
    if sampled < 1:
        click.echo(f"cleaning is estimated from a sample of the keys, 1 in {round(1 / sampled)}")


def _cells(row: Row) -> tuple[Any, ...]:
    estimate, cleaning = row.estimate, row.estimate.cleaning
    reasons = "; ".join(removal.reason for removal in estimate.removals)
    gone = sum(removal.segments for removal in estimate.removals)
    cells = (row.partition, estimate.segments, estimate.nbytes, row.retained_away, gone, reasons)
    if cleaning is None:
        return (*cells, "", "", "", "", "")
    return (
        *cells,
        f"{cleaning.dirt.ratio:.0%}",
        "yes" if cleaning.is_due else "no",
        cleaning.dropped_bytes,
        cleaning.dropped_records,
        cleaning.records,
    )
