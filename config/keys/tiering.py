"""Remote storage of old log files."""

from config.checks import non_empty
from config.definition import CLUSTER_WIDE, MAX_LONG, REFUSED, Area

AREA = Area("Remote storage", REFUSED, remedy="remote storage is not built yet: remove this line")

AREA.boolean(
    "remote.log.storage.system.enable", False, "Whether old log files go to remote storage."
)
AREA.string(
    "remote.log.storage.manager.class.name",
    None,
    "The class that stores remote files.",
    check=non_empty(),
)
AREA.string("remote.log.storage.manager.class.path", None, "Where that class is found.")
AREA.string(
    "remote.log.storage.manager.impl.prefix",
    "rsm.config.",
    "The prefix of that class's own settings.",
    check=non_empty(),
)
AREA.string(
    "remote.log.metadata.manager.class.name",
    "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
    "The class that remembers remote files.",
    check=non_empty(),
)
AREA.string("remote.log.metadata.manager.class.path", None, "Where that class is found.")
AREA.string(
    "remote.log.metadata.manager.impl.prefix",
    "rlmm.config.",
    "The prefix of that class's own settings.",
    check=non_empty(),
)
AREA.string(
    "remote.log.metadata.manager.listener.name",
    None,
    "The listener that class talks to.",
    check=non_empty(),
)
AREA.integer(
    "remote.log.metadata.custom.metadata.max.bytes",
    128,
    "The longest note stored with a remote file.",
    low=0,
)
AREA.long(
    "remote.log.index.file.cache.total.size.bytes",
    1073741824,
    "The memory for remote indexes.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.long(
    "remote.log.index.file.cache.ttl.ms",
    900000,
    "How long an unused remote index is kept.",
    low=1,
    internal=True,
)
AREA.long(
    "remote.log.manager.task.retry.backoff.ms",
    500,
    "The pause before remote work is tried again.",
    low=1,
    internal=True,
)
AREA.long(
    "remote.log.manager.task.retry.backoff.max.ms",
    30000,
    "The longest such pause.",
    low=1,
    internal=True,
)
AREA.double("remote.log.manager.task.retry.jitter", 0.2, "How much of it is random.", internal=True)
AREA.integer(
    "remote.log.reader.threads", 10, "Threads that read remote files.", low=1, dynamic=CLUSTER_WIDE
)
AREA.integer("remote.log.reader.max.pending.tasks", 100, "How many remote reads may wait.", low=1)
AREA.integer("remote.log.manager.thread.pool.size", 2, "Threads of remote work.", low=1)
AREA.integer(
    "remote.log.manager.follower.thread.pool.size",
    2,
    "Threads of remote work for followers.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.integer(
    "remote.log.manager.copier.thread.pool.size",
    10,
    "Threads that copy files away.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.integer(
    "remote.log.manager.expiration.thread.pool.size",
    10,
    "Threads that delete remote files.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.long(
    "remote.log.manager.task.interval.ms", 30000, "How often remote work is looked for.", low=1
)
AREA.long(
    "remote.log.manager.copy.max.bytes.per.second",
    MAX_LONG,
    "The most bytes a second copied away.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.integer(
    "remote.log.manager.copy.quota.window.num",
    11,
    "How many windows that rate is measured over.",
    low=1,
)
AREA.integer("remote.log.manager.copy.quota.window.size.seconds", 1, "The length of each.", low=1)
AREA.long(
    "remote.log.manager.fetch.max.bytes.per.second",
    MAX_LONG,
    "The most bytes a second read from remote storage.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.integer(
    "remote.log.manager.fetch.quota.window.num",
    11,
    "How many windows that rate is measured over.",
    low=1,
)
AREA.integer("remote.log.manager.fetch.quota.window.size.seconds", 1, "The length of each.", low=1)
AREA.integer(
    "remote.fetch.max.wait.ms",
    500,
    "How long a fetch may wait for remote storage.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.long(
    "remote.list.offsets.request.timeout.ms",
    30000,
    "How long ListOffsets may wait for remote storage.",
    low=1,
    dynamic=CLUSTER_WIDE,
)
AREA.long(
    "log.local.retention.ms",
    -2,
    "How long records stay local once copied away; -2 follows the whole retention.",
    low=-2,
    dynamic=CLUSTER_WIDE,
)
AREA.long(
    "log.local.retention.bytes",
    -2,
    "How many bytes stay local once copied away; -2 follows the whole retention.",
    low=-2,
    dynamic=CLUSTER_WIDE,
)
