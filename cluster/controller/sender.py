"""Carries the controller's decisions through the doors of a broker in this process.

Becoming leader creates directories and deleting renames them, both on the loop: so they go a few
at a time, with other callbacks between. Metadata goes topic by topic, whole, so that nobody sees a
topic with half of its partitions.
"""

from collections.abc import Iterable, Sequence

from cluster.controller.messages import (
    LeaderAndIsr,
    LiveBroker,
    MetadataUpdate,
    PartitionMetadata,
    ReplicaDoors,
    StopReplica,
)
from cluster.controller.turns import next_turn
from protocol.errors import ErrorCode
from protocol.model import TopicPartition

_NEW_AT_ONCE = 10
_KNOWN_AT_ONCE = 100
_METADATA_AT_ONCE = 250

Errors = dict[TopicPartition, ErrorCode]


class Sender:
    """Sends in the order given; the result has the partitions answered with an error."""

    def __init__(self, doors: ReplicaDoors, broker_id: int, controller_epoch: int) -> None:
        self._doors = doors
        self._broker_id = broker_id
        self._epoch = controller_epoch

    async def leader_and_isr(self, states: Sequence[LeaderAndIsr]) -> Errors:
        """Hand over leadership; an unchanged leader epoch is no error."""
        errors: Errors = {}
        start = 0
        while start < len(states):
            step = _NEW_AT_ONCE if states[start].is_new else _KNOWN_AT_ONCE
            chunk = states[start : start + step]
            answers = self._doors.become_leader_or_follower(self._epoch, chunk)
            errors.update(_failures(answers))
            start += step
            await next_turn()
        return errors

    async def metadata(
        self, brokers: Iterable[LiveBroker], partitions: Sequence[PartitionMetadata]
    ) -> None:
        """Tell what is known of brokers and partitions; those of one topic stand together."""
        live = tuple(brokers)
        start = 0
        while True:
            end = min(start + _METADATA_AT_ONCE, len(partitions))
            while 0 < end < len(partitions) and partitions[end].tp[0] == partitions[end - 1].tp[0]:
                end += 1
            update = MetadataUpdate(self._broker_id, live, partitions[start:end])
            self._doors.maybe_update_metadata_cache(self._epoch, update)
            start = end
            if start >= len(partitions):
                return
            await next_turn()

    async def stop_replicas(self, partitions: Sequence[StopReplica]) -> Errors:
        """Stop or delete replicas."""
        errors: Errors = {}
        for start in range(0, len(partitions), _NEW_AT_ONCE):
            chunk = partitions[start : start + _NEW_AT_ONCE]
            errors.update(_failures(self._doors.stop_replicas(self._epoch, chunk)))
            await next_turn()
        return errors


def _failures(answers: Errors) -> Errors:
    fine = (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH)
    return {tp: error for tp, error in answers.items() if error not in fine}
