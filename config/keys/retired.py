"""Settings of older Kafkas, known by name: a file that still sets one is told, not obeyed.

Each name maps to the default it had (None: it had none, so that any value is refused). Looked at
only when a name is met that no other area declares. Source: Kafka 3.9 and 4.0 release notes.
"""

RETIRED: dict[str, str | None] = {
    "auto.include.jmx.reporter": "true",
    "broker.id.generation.enable": "true",
    "control.plane.listener.name": None,
    "controlled.shutdown.max.retries": "3",
    "controlled.shutdown.retry.backoff.ms": "5000",
    "delegation.token.master.key": None,
    "group.coordinator.new.enable": "true",
    "inter.broker.protocol.version": None,
    "leader.imbalance.per.broker.percentage": "10",
    "log.message.downconversion.enable": "true",
    "log.message.format.version": "3.0-IV1",
    "log.message.timestamp.difference.max.ms": "9223372036854775807",
    "offsets.commit.required.acks": "-1",
    "password.encoder.cipher.algorithm": None,
    "password.encoder.iterations": None,
    "password.encoder.key.length": None,
    "password.encoder.keyfactory.algorithm": None,
    "password.encoder.old.secret": None,
    "password.encoder.secret": None,
    "reserved.broker.max.id": "1000",
    "zookeeper.clientCnxnSocket": None,
    "zookeeper.connect": None,
    "zookeeper.connection.timeout.ms": None,
    "zookeeper.max.in.flight.requests": "10",
    "zookeeper.metadata.migration.enable": "false",
    "zookeeper.session.timeout.ms": "18000",
    "zookeeper.set.acl": "false",
}


def remedy(name: str) -> str:
    """What to do about a retired setting."""
    if name.startswith("zookeeper."):
        return "clusters over ZooKeeper are not built yet: remove this line"
    return "this setting is gone since Kafka 4.0: remove this line"


def is_retired(name: str) -> bool:
    """Whether older Kafkas knew `name`."""
    return name in RETIRED or name.startswith("zookeeper.")
