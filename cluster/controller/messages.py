"""What the controller tells a broker, and the doors it tells it through.

The three messages are Kafka's LeaderAndIsr, StopReplica and UpdateMetadata requests as values
(control requests of Kafka 3.9). With one broker they are handed over in process; with several
they travel as those requests and come out at the same doors. The order of one batch is fixed:
LeaderAndIsr, then the metadata, then StopReplica, so that a follower knows its leader's address
and a deleted topic is out of every answer before its files move.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from protocol.errors import ErrorCode
from protocol.model import TopicPartition

NO_LEADER = -1
LEADER_DURING_DELETE = -2
EPOCH_DURING_DELETE = -2


class LeaderAndIsr(NamedTuple):
    """Leadership of one partition, as the state in the metadata store says.

    partition_epoch is the data version of the state znode. is_new allows the log to be created
    even while a log directory is offline.
    """

    tp: TopicPartition
    topic_id: bytes
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    is_new: bool = False


class StopReplica(NamedTuple):
    """Stop serving a partition, and with delete give its directory to deletion.

    leader_epoch is EPOCH_DURING_DELETE while the topic is being deleted: it passes every fence.
    """

    tp: TopicPartition
    leader_epoch: int
    delete: bool


class Endpoint(NamedTuple):
    """Where clients of one listener reach a broker: the advertised address, the port bound."""

    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


class LiveBroker(NamedTuple):
    """A registered broker with the endpoint of each of its listeners."""

    id: int
    endpoints: dict[str, Endpoint]
    rack: str | None = None
    epoch: int = -1


class PartitionMetadata(NamedTuple):
    """What every broker knows of one partition; leader LEADER_DURING_DELETE removes it."""

    tp: TopicPartition
    topic_id: bytes
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


class MetadataUpdate(NamedTuple):
    """Live brokers replace the old set; partitions are merged into what is known."""

    controller_id: int
    live_brokers: Sequence[LiveBroker]
    partitions: Sequence[PartitionMetadata] = ()


class ReplicaDoors(Protocol):
    """The only ways to leadership, to deletion and to metadata on a broker.

    Each refuses a controller epoch older than the newest it has seen with
    KafkaError(STALE_CONTROLLER_EPOCH). Errors of single partitions are values.
    """

    def become_leader_or_follower(
        self, controller_epoch: int, states: Sequence[LeaderAndIsr]
    ) -> dict[TopicPartition, ErrorCode]:
        """Adopt leadership; an unchanged leader epoch is answered STALE_CONTROLLER_EPOCH."""

    def stop_replicas(
        self, controller_epoch: int, partitions: Sequence[StopReplica]
    ) -> dict[TopicPartition, ErrorCode]:
        """Stop them; those to delete have their directories renamed before this returns."""

    def maybe_update_metadata_cache(
        self, controller_epoch: int, update: MetadataUpdate
    ) -> list[TopicPartition]:
        """Merge the update and return the partitions that it removed."""
