"""tidelog export-kafka: give log directories back to the Apache Kafka broker they came from.

The metadata store is moved aside, not deleted: it alone knows what was created here. Until then
everything can be done again.
"""

import os
from typing import Any

import click

from cli.carrying import Opened, find_kraft, opened, refuse
from cli.connection import json_option
from cli.output import print_json
from cluster.kafka_metadata.embedded import move_aside, read_store
from cluster.kafka_metadata.export_kraft import plan_kraft_export
from cluster.kafka_metadata.export_znodes import Tree, plan_zookeeper_export
from cluster.kafka_metadata.held import Held, survey
from cluster.kafka_metadata.image import ClusterImage
from cluster.kafka_metadata.kraft import read_cluster
from cluster.kafka_metadata.leftovers import (
    name_broker_epoch,
    name_brokers,
    name_topics,
    settle_checkpoints,
)
from cluster.kafka_metadata.znode_tree import read_tree
from runtime.clock import SystemClock


@click.command(name="export-kafka")
@click.argument(
    "directories",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    metavar="DIR...",
)
@click.option(
    "--metadata-dir",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    metavar="DIR",
    help="KRaft: metadata.log.dir, where it is none of log.dirs.",
)
@click.option("--zookeeper", metavar="HOST:PORT[/CHROOT]", help="ZooKeeper: as zookeeper.connect.")
@click.option("--force", is_flag=True, help="KRaft: give them back whatever Kafka would set aside.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@json_option
def command(directories: tuple[str, ...], **options: Any) -> None:
    """Give log directories back to the stopped Kafka broker they came from.

    Name all of log.dirs, in the order in which Tidelog was given them.
    """
    with opened(directories) as found:
        _export(found, options)


def _export(found: Opened, options: dict[str, Any]) -> None:
    if not os.path.exists(found.store_file):
        raise click.ClickException(
            f"{found.store_file} is not there: nothing of Tidelog's to export; name the"
            f" directories in the order in which Tidelog was given them"
        )
    ours = read_tree(read_store(found.store_file), found.store_file)
    held = survey(found.directories)
    carry = _to_zookeeper if options["zookeeper"] else _to_kraft
    document = carry(found, ours, held, options)
    if not options["dry_run"]:
        settle_checkpoints(found.directories, held)
        name_topics(found.directories, held, ours)
        document["store"] = move_aside(found.store_file, SystemClock().now_ms())
    if options["as_json"]:
        print_json({**document, "done": not options["dry_run"]})
    else:
        _print(document, dry_run=options["dry_run"])


def _to_kraft(
    found: Opened, ours: ClusterImage, held: Held, options: dict[str, Any]
) -> dict[str, Any]:
    metadata_dir = find_kraft(found, options["metadata_dir"])
    if metadata_dir is None:
        raise click.ClickException(
            "no Kafka of these directories: name its ZooKeeper (--zookeeper), or the KRaft"
            " metadata.log.dir (--metadata-dir)"
        )
    theirs = read_cluster(found.directories[0].disk, metadata_dir)
    plan = plan_kraft_export(ours, theirs, held, found.identity.node_id)
    document: dict[str, Any] = {
        "target": theirs.origin,
        "notes": plan.notes,
        "commands": plan.commands,
    }
    if options["force"]:
        plan.notes.extend(plan.refusals)
    else:
        remedy = "not exported, and nothing was changed (--force does it all the same):"
        refuse(plan.refusals, remedy, options["as_json"], document)
    if not options["dry_run"]:
        epoch = theirs.broker_epochs.get(found.identity.node_id)
        if epoch is not None:
            name_broker_epoch(found.directories, epoch)
    return document


def _to_zookeeper(
    found: Opened, ours: ClusterImage, held: Held, options: dict[str, Any]
) -> dict[str, Any]:
    from cluster.kafka_metadata.zookeeper import fetch, write

    address = options["zookeeper"]
    nodes = fetch(address)
    tree = Tree(nodes, read_tree(nodes, f"ZooKeeper at {address}"))
    plan = plan_zookeeper_export(ours, tree, held, found.identity.node_id)
    document: dict[str, Any] = {
        "target": tree.image.origin,
        "notes": plan.notes,
        "znodes": sum(map(len, plan.transactions)),
    }
    remedy = "not exported, and nothing was changed:"
    refuse(plan.refusals, remedy, options["as_json"], document)
    if not options["dry_run"]:
        write(address, plan.transactions)
        for path in name_brokers(found.directories, SystemClock().now_ms()):
            plan.notes.append(f"{path}: meta.properties written as version 0")
    return document


def _print(document: dict[str, Any], *, dry_run: bool) -> None:
    click.echo(f"to {document['target']}")
    for note in document["notes"]:
        click.echo(f"note: {note}")
    commands = document.get("commands", ())
    if commands:
        click.echo("to be run once Kafka is up:")
        for line in commands:
            click.echo(f"  {line}")
    if "znodes" in document:
        click.echo(f"{document['znodes']} znodes {'to write' if dry_run else 'written'}")
    if dry_run:
        click.echo("dry run: nothing was written")
    else:
        click.echo(f"the metadata store is kept as {document['store']}")
