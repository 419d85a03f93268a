"""How the in-sync set changes when a replica is lost (ReplicaStateMachine of Kafka 3.9)."""

from cluster.controller.messages import NO_LEADER
from cluster.znodes import PartitionState


def without_replica(
    state: PartitionState, replica: int, controller_epoch: int
) -> PartitionState | None:
    """Leadership once a replica went offline; None when that changes nothing.

    The last member of the in-sync set stays in it, for only it has all that was acknowledged;
    the partition has no leader then. The controller's own changes raise the leader epoch.
    """
    if replica not in state.isr or (state.leader == NO_LEADER and state.isr == (replica,)):
        return None
    rest = tuple(one for one in state.isr if one != replica)
    return state._replace(
        leader=NO_LEADER if state.leader == replica else state.leader,
        leader_epoch=state.leader_epoch + 1,
        isr=rest or state.isr,
        controller_epoch=controller_epoch,
    )
