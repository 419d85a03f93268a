"""Whether a KRaft broker can take its directories back: pure comparison, nothing is written to it.

Its own metadata log decides what it serves, and was not there when topics changed here. So what it
does not know, or knows otherwise, is told before it starts:

    a topic or partition made here      it would set the directory aside as `-stray`
    a leader epoch above its own        it leads below it and cuts its list of epochs; no record
                                        is lost, but a Java consumer whose group committed in the
                                        higher epoch takes no lower one and reads nothing
    replicas on other brokers           one of them may lead, and undo what was written here
    settings, deletions                 it goes by its own; the commands that bring them over

Kafka raises the leader epoch of every partition when the broker comes back, so an epoch equal to
its own is below the one it will lead in.
Source: LogManager.isStrayReplica, ReplicationControlManager, LeaderEpochFileCache of 3.9 and 4.3.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cluster.kafka_metadata.held import Held
from cluster.kafka_metadata.image import BROKERS, TOPICS, ClusterImage, PartitionImage, TopicImage
from cluster.znodes import DEFAULT_ENTITY
from protocol.model import TopicPartition, topic_id_to_text

CONFIG_TOOL = "kafka-configs.sh --bootstrap-server HOST:PORT --alter"
TOPIC_TOOL = "kafka-topics.sh --bootstrap-server HOST:PORT"


class ExportPlan(NamedTuple):
    """What stands in the way, what the operator should know, and commands to run afterwards."""

    refusals: list[str]
    notes: list[str]
    commands: list[str]


def plan_kraft_export(
    ours: ClusterImage, theirs: ClusterImage, held: Held, node_id: int
) -> ExportPlan:
    """Compare what is served here with what Kafka knows."""
    plan = ExportPlan([], [], [])
    for name, topic in sorted(ours.topics.items()):
        known = theirs.topics.get(name)
        if known is None:
            plan.refusals.append(f"topic {name} was made here: its directories become -stray")
        elif known.topic_id != topic.topic_id:
            plan.refusals.append(
                f"topic {name} was made anew here: Kafka knows the id"
                f" {topic_id_to_text(known.topic_id)}, its directories become -stray"
            )
        else:
            _compare_partitions(plan, topic, known, held, node_id)
            _compare_configs(plan, TOPICS, name, ours, theirs)
    for name in sorted(theirs.topics.keys() - ours.topics.keys()):
        if _was_deleted(theirs.topics[name], held, node_id):
            plan.notes.append(f"topic {name} was deleted here: Kafka would make it again, empty")
            plan.commands.append(f"{TOPIC_TOOL} --delete --topic {name}")
    for name in sorted(ours.configs[BROKERS].keys() | theirs.configs[BROKERS].keys()):
        _compare_configs(plan, BROKERS, name, ours, theirs)
    return plan


def _compare_partitions(
    plan: ExportPlan, topic: TopicImage, known: TopicImage, held: Held, node_id: int
) -> None:
    grown = topic.partitions.keys() - known.partitions.keys()
    if grown:
        plan.refusals.append(
            f"topic {topic.name} has {len(topic.partitions)} partitions here and"
            f" {len(known.partitions)} in Kafka: the others become -stray"
        )
    for index, partition in sorted(topic.partitions.items()):
        their = known.partitions.get(index)
        if their is None:
            continue
        if set(their.replicas) != {node_id}:
            plan.refusals.append(
                f"{topic.name}-{index} has replicas {list(their.replicas)} in Kafka: another"
                f" broker may lead and undo what was written here"
            )
        epoch = max(partition.leader_epoch, _latest_epoch(held, topic.name, index))
        if epoch > their.leader_epoch:
            plan.refusals.append(
                f"{topic.name}-{index} was led in epoch {epoch} here, Kafka knows"
                f" {their.leader_epoch} and would lead below it: groups that committed since read"
                f" nothing until kafka-consumer-groups.sh --reset-offsets"
            )


def _compare_configs(
    plan: ExportPlan, kind: str, name: str, ours: ClusterImage, theirs: ClusterImage
) -> None:
    """The commands that make Kafka's settings of one entity ours."""
    here, there = ours.configs[kind].get(name, {}), theirs.configs[kind].get(name, {})
    added = {key: value for key, value in here.items() if there.get(key) != value}
    removed = sorted(there.keys() - here.keys())
    if not added and not removed:
        return
    entity = f"--entity-type {kind} " + (
        "--entity-default" if name == DEFAULT_ENTITY else f"--entity-name {name}"
    )
    plan.notes.append(f"settings of {entity.rpartition(' ')[2]} ({kind}) differ")
    if added:
        plan.commands.append(f"{CONFIG_TOOL} {entity} --add-config {_settings(added)}")
    if removed:
        plan.commands.append(f"{CONFIG_TOOL} {entity} --delete-config {','.join(removed)}")


def _settings(values: Mapping[str, str]) -> str:
    """As the tool wants them: a value with commas in brackets, all in quotes."""
    shown = (f"{key}={f'[{v}]' if ',' in v else v}" for key, v in sorted(values.items()))
    return f"'{','.join(shown)}'"


def _latest_epoch(held: Held, name: str, index: int) -> int:
    replica = held.replicas.get(TopicPartition(name, index))
    return -1 if replica is None else replica.latest_epoch


def _was_deleted(topic: TopicImage, held: Held, node_id: int) -> bool:
    """Whether this node had the topic: neither led elsewhere nor left out when it was imported."""

    def lies_here(index: int) -> bool:
        replica = held.replicas.get(TopicPartition(topic.name, index))
        return replica is not None and replica.topic_id == topic.topic_id

    def was_ours(partition: PartitionImage) -> bool:
        return node_id in partition.replicas

    return any(map(was_ours, topic.partitions.values())) and not any(
        map(lies_here, topic.partitions)
    )
