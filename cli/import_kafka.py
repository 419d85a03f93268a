"""tidelog import-kafka: take over the log directories of a stopped Apache Kafka broker, in place.

Only one file is written: the metadata store, beside the logs in the first directory named. Kafka's
own files stay as they are, so that until Tidelog has written to the logs nothing has to be undone.
"""

import os
from typing import Any

import click

from cli.carrying import Opened, find_kraft, opened, refuse
from cli.connection import json_option
from cli.output import print_json, print_table
from cluster.kafka_metadata.embedded import earlier_producer_ids, make_store, read_store
from cluster.kafka_metadata.held import (
    Held,
    highest_producer_id,
    image_of_directories,
    survey,
)
from cluster.kafka_metadata.image import TOPICS, ClusterImage
from cluster.kafka_metadata.importing import (
    Choices,
    ImportPlan,
    last_block,
    operations,
    own_producer_ids,
    plan_import,
)
from cluster.kafka_metadata.kraft import read_cluster
from cluster.kafka_metadata.kraft_log import METADATA_DIRECTORY
from cluster.kafka_metadata.znode_tree import read_tree
from protocol.model import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, topic_id_to_text
from storage.log_dirs import read_meta_properties

UNKNOWN_SETTINGS = (
    "no settings of topics are known but those given here: nothing is deleted until"
    " 'tidelog configs' says so"
)
KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}
"""Settings of topics whose own nobody knows: nothing is deleted by a guess."""
INTERNAL = {
    CONSUMER_OFFSETS_TOPIC: {"cleanup.policy": "compact", "compression.type": "producer"},
    TRANSACTION_STATE_TOPIC: {"cleanup.policy": "compact", "compression.type": "uncompressed"},
}
"""Settings that Kafka gives its own topics, whatever the broker's."""


@click.command(name="import-kafka")
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
@click.option(
    "--topic-config",
    multiple=True,
    metavar="TOPIC:KEY=VALUE",
    help="A topic's setting, where neither KRaft nor ZooKeeper tells it; repeatable.",
)
@click.option("--partial", is_flag=True, help="Leave out topics that do not lie here whole.")
@click.option("--unclean", is_flag=True, help="Take replicas that were not in sync as well.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken over; write nothing.")
@json_option
def command(directories: tuple[str, ...], **options: Any) -> None:
    """Take over the log directories of a stopped Kafka broker.

    Name all of log.dirs, in the order in which Tidelog will be given them.
    """
    with opened(directories) as found:
        _import(found, options)


def _import(found: Opened, options: dict[str, Any]) -> None:
    as_json = options["as_json"]
    if os.path.exists(found.store_file):
        _already(found, as_json)
        return
    held = survey(found.directories)
    source = _source(found, held, options)
    node_id = found.identity.node_id
    plan = plan_import(source, held, node_id, Choices(options["partial"], options["unclean"]))
    _refuse_strangers(found, source, plan)
    if source.settings_unknown:
        plan.notes.append(UNKNOWN_SETTINGS)
    cluster_id = found.identity.cluster_id or source.cluster_id
    if cluster_id is None:
        plan.refusals.append("neither meta.properties nor the source names the cluster")
    document = {
        "store": found.store_file,
        "source": source.origin,
        "node_id": node_id,
        "cluster_id": cluster_id,
        "topics": [_described(topic) for topic in plan.topics],
        "notes": plan.notes,
    }
    refuse(plan.refusals, "not imported, and nothing was changed:", as_json, document)
    assert cluster_id is not None
    next_id = source.next_producer_id
    if not options["zookeeper"]:
        earlier = earlier_producer_ids(found.directories[0].path)
        next_id = own_producer_ids(earlier, highest_producer_id(found.directories, held))
    if not as_json:
        _print(plan, source, cluster_id, node_id)
    if not options["dry_run"]:
        block = last_block(next_id, node_id)
        make_store(found.store_file, operations(plan, source, cluster_id, block))
    if as_json:
        print_json({**document, "next_producer_id": next_id, "done": not options["dry_run"]})
    elif options["dry_run"]:
        click.echo("dry run: nothing was written")
    else:
        click.echo(f"written: {found.store_file}")


def _already(found: Opened, as_json: bool) -> None:
    """There is a store, made by an import or a start of Tidelog: it is what counts."""
    image = read_tree(read_store(found.store_file), found.store_file)
    if as_json:
        print_json({"store": found.store_file, "topics": sorted(image.topics), "done": False})
        return
    click.echo(
        f"{found.store_file} is there already, with {len(image.topics)} topics: nothing to do."
        f" If Kafka ran on these directories since, move it away and import again."
    )


def _source(found: Opened, held: Held, options: dict[str, Any]) -> ClusterImage:
    if options["zookeeper"]:
        from cluster.kafka_metadata.zookeeper import fetch

        return read_tree(fetch(options["zookeeper"]), f"ZooKeeper at {options['zookeeper']}")
    metadata_dir = find_kraft(found, options["metadata_dir"])
    if metadata_dir is not None:
        return read_cluster(found.directories[0].disk, metadata_dir)
    return _without_metadata(found, held, options["topic_config"])


def _without_metadata(found: Opened, held: Held, settings: tuple[str, ...]) -> ClusterImage:
    """From directories alone: what a ZooKeeper broker leaves once ZooKeeper is gone."""
    first = found.directories[0]
    theirs = read_meta_properties(first.disk, first.path)
    if theirs is not None and theirs.version > 0:
        raise click.ClickException(
            f"{first.path} was a KRaft broker's, but {METADATA_DIRECTORY} is in none of the"
            f" directories named: name metadata.log.dir with --metadata-dir"
        )
    source = image_of_directories(held, found.identity.node_id)
    for name in source.topics:
        source.configs[TOPICS][name] = dict(INTERNAL.get(name, KEPT))
    for text in settings:
        topic, _, setting = text.partition(":")
        key, equals, value = setting.partition("=")
        if topic not in source.topics or not equals:
            raise click.UsageError(f"'{text}' is not TOPIC:KEY=VALUE of a topic that lies here")
        source.configs[TOPICS][topic][key] = value
    return source


def _refuse_strangers(found: Opened, source: ClusterImage, plan: ImportPlan) -> None:
    node_id, cluster_id = found.identity
    if source.cluster_id is not None and cluster_id not in (None, source.cluster_id):
        plan.refusals.append(
            f"{source.origin} is of cluster {source.cluster_id}, these directories are of"
            f" {cluster_id}"
        )
    if node_id in source.live_brokers:
        plan.refusals.append(
            f"broker {node_id} is registered with {source.origin}: stop it, and wait until its"
            f" session has ended"
        )


def _described(topic: Any) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": topic_id_to_text(topic.topic_id),
        "leader_epochs": {index: state.leader_epoch for index, state in topic.states.items()},
        "configs": topic.configs,
    }


def _print(plan: ImportPlan, source: ClusterImage, cluster_id: str, node_id: int) -> None:
    click.echo(f"cluster {cluster_id}, node {node_id}, from {source.origin}")
    rows = [
        (
            topic.name,
            topic_id_to_text(topic.topic_id),
            len(topic.states),
            max((state.leader_epoch for state in topic.states.values()), default=0),
            " ".join(f"{key}={value}" for key, value in sorted(topic.configs.items())),
        )
        for topic in plan.topics
    ]
    print_table(("topic", "id", "partitions", "leader epoch", "settings"), rows)
    for note in plan.notes:
        click.echo(f"note: {note}")
