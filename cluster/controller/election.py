"""Who leads a partition.

Pure rules of Kafka's partition state machine in ZooKeeper mode (Election, PartitionStateMachine of
3.9). A leader epoch grows with every change of leadership, and a restart is none: a broker
registers before it becomes controller, so the controller finds the stored leader alive and hands
its epoch out unchanged. Only a partition whose leader is not alive is elected.
"""

from collections.abc import Collection, Sequence

from cluster.controller.messages import NO_LEADER
from cluster.znodes import PartitionState


def first_state(
    replicas: Sequence[int], live: Collection[int], controller_epoch: int
) -> PartitionState | None:
    """Leadership of a new partition: all live replicas are in sync, the first of them leads.

    None without a live replica: such a partition waits, and has no state, until one starts.
    """
    alive = tuple(replica for replica in replicas if replica in live)
    if not alive:
        return None
    return PartitionState(alive[0], 0, alive, controller_epoch)


def elect_offline(
    state: PartitionState,
    replicas: Sequence[int],
    live: Collection[int],
    controller_epoch: int,
    *,
    unclean: bool,
) -> PartitionState | None:
    """Leadership after the leader was lost; None when nobody may lead.

    The first assigned replica that is alive and in sync; with `unclean` else the first that is
    alive, alone in the new in-sync set: what only the lost replicas had is given up.
    """
    leader = next((one for one in replicas if one in live and one in state.isr), None)
    if leader is not None:
        isr = tuple(one for one in state.isr if one in live)
    else:
        leader = next((one for one in replicas if one in live), None) if unclean else None
        if leader is None:
            return None
        isr = (leader,)
    return state._replace(
        leader=leader,
        leader_epoch=state.leader_epoch + 1,
        isr=isr,
        controller_epoch=controller_epoch,
    )


def elect_preferred(
    state: PartitionState, replicas: Sequence[int], live: Collection[int], controller_epoch: int
) -> PartitionState | None:
    """Leadership of the replica assigned first; None when it is not alive and in sync."""
    preferred = replicas[0]
    if preferred not in live or preferred not in state.isr:
        return None
    return state._replace(
        leader=preferred,
        leader_epoch=state.leader_epoch + 1,
        isr=tuple(one for one in state.isr if one in live),
        controller_epoch=controller_epoch,
    )


def has_live_leader(state: PartitionState, live: Collection[int]) -> bool:
    """Whether the stored leader can go on leading."""
    return state.leader != NO_LEADER and state.leader in live
