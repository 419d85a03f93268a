"""Writes the end of a transaction to one partition that is led here.

A marker for an internal topic goes through the coordinator of that partition, which applies it to
its state; any other is appended to the log. It is written once the high watermark has passed it.
Source: KafkaApis.handleWriteTxnMarkersRequest (4.3).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from broker.coordinator.shard import Waiter, Writer
from broker.replication.delayed_produce import DelayedProduce, PendingAppend
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode, KafkaError
from protocol.model import ACKS_ALL, TopicPartition
from protocol.records.control import EndTransactionMarker, build_end_transaction_marker
from storage.log.results import Origin
from storage.producer.verification import TransactionTerms

_AWAY: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Marker(NamedTuple):
    """Whose transaction has ended, how, by which coordinator and by which protocol's rules."""

    writer: Writer
    end: EndTransactionMarker
    transaction_version: int = 0


class TakesMarkers(Protocol):
    """The runtime of a coordinator whose topic may be written to in transactions."""

    def write_marker(
        self,
        index: int,
        writer: Writer,
        marker: EndTransactionMarker,
        waiter: Waiter,
        transaction_version: int = 0,
    ) -> None:
        """End a transaction in a partition."""


class MarkerWriter:
    """`runtimes` are those of internal topics by name."""

    def __init__(
        self,
        replicas: ReplicaManager,
        runtimes: Mapping[str, TakesMarkers],
        now_ms: Callable[[], int],
        timeout_ms: Callable[[], int],
    ) -> None:
        self._replicas = replicas
        self._runtimes = runtimes
        self._now_ms = now_ms
        self._timeout_ms = timeout_ms

    def write(self, topic_partition: TopicPartition, marker: Marker, waiter: Waiter) -> None:
        """Answered None, perhaps at once. Refused UNKNOWN_TOPIC_OR_PARTITION where there is no
        such partition in the cluster, and with what appends are refused with.
        """
        replicas = self._replicas
        try:
            partition = replicas.hosted(topic_partition)
            runtime = self._runtimes.get(topic_partition.topic)
            if runtime is not None:
                index = topic_partition.partition
                told = _OfCoordinator(waiter)
                version = marker.transaction_version
                runtime.write_marker(index, marker.writer, marker.end, told, version)
                return
            result = replicas.append(
                partition,
                memoryview(self._batch(marker)),
                ACKS_ALL,
                Origin.COORDINATOR,
                TransactionTerms(None, marker.transaction_version),
            )
        except KafkaError as error:
            waiter.refuse(error.code)
            return
        end_offset = result.last_offset + 1
        code = partition.acknowledgement(end_offset, ACKS_ALL)
        if code is not None:
            _tell(waiter, code)
            return

        def done(appends: Sequence[PendingAppend]) -> None:
            assert appends[0].error is not None
            _tell(waiter, appends[0].error)

        def broke(_: Exception) -> None:
            waiter.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)

        pending = [PendingAppend(partition, end_offset)]
        replicas.wait_for_appends(
            DelayedProduce(ACKS_ALL, pending, done, broke), self._timeout_ms()
        )

    def _batch(self, marker: Marker) -> bytearray:
        return build_end_transaction_marker(
            marker.end,
            producer_id=marker.writer.producer_id,
            producer_epoch=marker.writer.producer_epoch,
            timestamp=self._now_ms(),
        )


def _tell(waiter: Waiter, code: ErrorCode) -> None:
    if code is ErrorCode.NONE:
        waiter.answer(None)
    else:
        waiter.refuse(code)


class _OfCoordinator:
    """What a coordinator says, in the words of a partition's leader."""

    __slots__ = ("_waiter",)

    def __init__(self, waiter: Waiter) -> None:
        self._waiter = waiter

    def answer(self, _reply: object) -> None:
        self._waiter.answer(None)

    def refuse(self, code: ErrorCode) -> None:
        self._waiter.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _AWAY else code)
