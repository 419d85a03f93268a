"""tidelog doctor: what a client at this address would see, and what is wrong with it.

Each check is told as a finding: ok, warning or failure, what was found where, and the remedy.
The commonest trouble with Kafka is an advertised address that clients cannot reach, so every
address that the cluster names is tried from here.
"""

import resource
import shutil
import socket
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from cli.connection import (
    CONNECT_SECONDS,
    bootstrap_option,
    json_option,
    kafka_error,
    split_address,
)
from cli.output import print_json, print_table

ANSWER_SECONDS = 10
LOW_FILE_LIMIT = 10_000
FULL_DISK, NEARLY_FULL_DISK = 0.98, 0.90


class Finding(NamedTuple):
    """One thing looked at."""

    state: Literal["ok", "warning", "failure"]
    what: str
    found: str
    remedy: str = ""


def check_connection(host: str, port: int, what: str, remedy: str) -> Finding:
    """Can a TCP connection be made from here?"""
    address = f"{host}:{port}"
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        reason = error.strerror or str(error)
        return Finding("failure", what, f"{address} cannot be reached: {reason}", remedy)
    return Finding("ok", what, f"{address} answers")


def check_disk(directory: Path) -> Finding:
    """Is there room where the logs live?"""
    what = f"disk of {directory}"
    try:
        usage = shutil.disk_usage(directory)
    except OSError as error:
        return Finding("failure", what, str(error), "mount it, or correct log.dirs")
    share = usage.used / usage.total
    found = f"{share:.0%} used, {usage.free / 1e9:.1f} GB free"
    if share >= FULL_DISK:
        return Finding(
            "failure", what, found, "free space now, or lower retention.bytes of large topics"
        )
    if share >= NEARLY_FULL_DISK:
        return Finding(
            "warning", what, found, "free space, or lower retention.bytes of large topics"
        )
    return Finding("ok", what, found)


def check_file_limit(soft: int, hard: int) -> Finding:
    """Connections and open logs take descriptors."""
    found = f"{soft} soft, {hard} hard"
    if hard != resource.RLIM_INFINITY and hard < LOW_FILE_LIMIT:
        return Finding(
            "warning",
            "open files allowed",
            found,
            "raise it: ulimit -Hn, or LimitNOFILE in systemd",
        )
    return Finding("ok", "open files allowed", found)


def check_cluster(client: dict[str, Any]) -> list[Finding]:
    """Bootstrap address, what the cluster answers there, and every address it names."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    findings = []
    for address in client["bootstrap.servers"].split(","):
        remedy = "start the broker, or give its listener's address with -b"
        findings.append(check_connection(*split_address(address), "bootstrap address", remedy))
    if all(finding.state == "failure" for finding in findings):
        return findings
    try:
        seen = AdminClient(client).list_topics(timeout=10)
    except KafkaException as error:
        text = kafka_error(error).str()
        remedy = "something else may listen there, or it wants TLS or SASL (-X security.protocol=…)"
        return [*findings, Finding("failure", "Kafka protocol", text, remedy)]
    findings.append(Finding("ok", "cluster", f"{seen.cluster_id}, controller {seen.controller_id}"))
    reached = []
    for broker in seen.brokers.values():
        remedy = "set advertised.listeners to an address clients can reach"
        what = f"advertised address of broker {broker.id}"
        findings.append(check_connection(broker.host, broker.port, what, remedy))
        if findings[-1].state == "ok":
            reached.append(broker.id)
    findings += check_topics(seen.topics)
    return findings + check_log_directories(client, reached)


def check_topics(topics: dict[str, Any]) -> list[Finding]:
    """Do all partitions have a leader and all their in-sync replicas?"""
    leaderless, lagging, partitions = [], [], 0
    for name, topic in topics.items():
        for number, partition in topic.partitions.items():
            partitions += 1
            if partition.leader < 0:
                leaderless.append(f"{name}-{number}")
            elif len(partition.isrs) < len(partition.replicas):
                lagging.append(f"{name}-{number}")
    if leaderless:
        text = f"without a leader: {', '.join(leaderless[:5])} ({len(leaderless)} in all)"
        return [Finding("failure", "partitions", text, "start the brokers that hold them")]
    if lagging:
        text = f"under-replicated: {', '.join(lagging[:5])} ({len(lagging)} in all)"
        return [Finding("warning", "partitions", text, "look at the brokers that lag")]
    return [Finding("ok", "partitions", f"{partitions} in {len(topics)} topics, all led")]


def check_log_directories(client: dict[str, Any], brokers: list[int]) -> list[Finding]:
    """The brokers' log directories, where they are on this machine."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource

    connected = AdminClient(client)
    findings = []
    for broker in brokers:
        asked = ConfigResource("broker", str(broker))
        try:
            (answer,) = connected.describe_configs([asked]).values()
            entries = answer.result(ANSWER_SECONDS)
        except (KafkaException, TimeoutError):
            continue  # not every cluster lets everybody look
        entry = entries.get("log.dirs")
        value = (entry.value if entry else None) or getattr(entries.get("log.dir"), "value", None)
        here = [Path(item) for item in (value or "").split(",") if item and Path(item).is_dir()]
        findings += [check_disk(directory) for directory in here]
    return findings


@click.command(name="doctor")
@bootstrap_option
@json_option
def command(client: dict[str, Any], as_json: bool) -> None:
    """Look at a cluster as a client would; exit code 1 when something is wrong."""
    findings = [
        *check_cluster(client),
        check_file_limit(*resource.getrlimit(resource.RLIMIT_NOFILE)),
    ]
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        print_table(("", "what", "found", "remedy"), findings)
    if any(finding.state == "failure" for finding in findings):
        raise SystemExit(1)
