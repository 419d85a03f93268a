"""Any life of a classic group: clients that come, go, repeat themselves and die, and a broker that
restarts, with records refused now and then.

    no partition has two owners at one generation
    what was committed is never lost, nor an older offset told again
    what the log says is what lives, after every step
    a request sent again changes nothing
"""

from collections.abc import Mapping
from random import Random
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
)

from broker.coordinator.group.classic_group import ClassicGroup, GroupState
from protocol.errors import ErrorCode
from protocol.messages.join_group import JoinGroupResponse
from protocol.messages.sync_group import SyncGroupResponse
from tests.support.group_shard import Answer, GroupTable, Values

PARTITIONS: Final = 4
INSTANCES: Final = (None, None, "one", "two")


class Client:
    """A consumer: what it believes of the group, and what it waits for."""

    def __init__(self, name: str, instance: str | None) -> None:
        self.name = name
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.leads: list[str] | None = None
        self.joining: Answer | None = None
        self.syncing: Answer | None = None


class ClassicLife(RuleBasedStateMachine):
    """See the module."""

    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        values = Values()
        values.max_size = 3
        self.groups = GroupTable(values)
        self.count = 0
        self.live: list[Client] = []
        self.owned: dict[tuple[int, str], tuple[str, frozenset[str]]] = {}
        self.offsets: dict[int, int] = {}
        self.next_offset = 0

    # What clients do.

    @rule(target=clients, instance=st.sampled_from(INSTANCES))
    def start(self, instance: str | None) -> Client:
        self.count += 1
        client = Client(f"c{self.count}", instance)
        self.live.append(client)
        return client

    @rule(client=clients, protocols=st.sampled_from((("range",), ("range", "sticky"))))
    def join(self, client: Client, protocols: tuple[str, ...]) -> None:
        client.joining = self.groups.join(
            client.name,
            client.member_id,
            instance=client.instance,
            protocols=protocols,
        )
        client.syncing = None
        self.read_answers()

    @rule(order=st.randoms(use_true_random=False))
    def everybody_balances(self, order: Random) -> None:
        """Clients that do as they should, in any order: most lives would never come so far."""
        for _ in range(2):
            for client in order.sample(self.live, len(self.live)):
                if client.joining is None:
                    self.join(client, ("range",))
        self.time_passes(9000)
        for client in order.sample(self.live, len(self.live)):
            self.sync(client)

    @rule(client=clients)
    def sync(self, client: Client) -> None:
        if client.generation < 0:
            return
        assignments = None
        if client.leads is not None:
            assignments = dict.fromkeys(client.leads, "")
            for partition in range(PARTITIONS):
                assignments[client.leads[partition % len(client.leads)]] += str(partition)
        client.syncing = self.groups.sync(
            client.name,
            client.member_id,
            client.generation,
            assignments,
            instance=client.instance,
        )
        self.read_answers()

    @rule(client=clients)
    def heartbeat(self, client: Client) -> None:
        if client.generation >= 0:
            self.groups.heartbeat(client.name, client.member_id, client.generation, client.instance)

    @rule(client=clients, partition=st.integers(0, PARTITIONS - 1))
    def commit(self, client: Client, partition: int) -> None:
        self.next_offset += 1
        for _ in range(2):  # Sent again, it changes nothing.
            told = self.groups.commit(
                self.next_offset,
                client.member_id,
                client.generation,
                partition=partition,
                instance=client.instance,
            )
        if not isinstance(told.reply, ErrorCode):
            self.offsets[partition] = self.next_offset

    @rule(client=consumes(clients))
    def leave(self, client: Client) -> None:
        self.groups.leave(client.name, (client.member_id, client.instance))
        self.live.remove(client)
        self.read_answers()

    @rule(client=consumes(clients))
    def die(self, client: Client) -> None:
        self.live.remove(client)

    # What happens to the broker.

    @rule(milliseconds=st.sampled_from((100, 3000, 9000, 70_000)))
    def time_passes(self, milliseconds: int) -> None:
        self.groups.advance(milliseconds)
        self.read_answers()

    @rule()
    def restart(self) -> None:
        self.groups.restart()
        self.read_answers()

    @rule()
    def refuse_an_append(self) -> None:
        self.groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE

    def read_answers(self) -> None:
        """Clients learn what they were told."""
        for client in self.live:
            if client.joining is not None and client.joining.reply is not None:
                self.joined(client, client.joining.reply)
                client.joining = None
            if client.syncing is not None and client.syncing.reply is not None:
                self.synced(client, client.syncing.reply)
                client.syncing = None

    def joined(self, client: Client, reply: object) -> None:
        if isinstance(reply, JoinGroupResponse) and not reply.error_code:
            client.member_id, client.generation = reply.member_id, reply.generation_id
            client.leads = [one.member_id for one in reply.members] or None
            if reply.skip_assignment:
                client.leads = None
        elif (
            isinstance(reply, JoinGroupResponse)
            and reply.error_code == ErrorCode.MEMBER_ID_REQUIRED
        ):
            client.member_id = reply.member_id
        elif reply in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID) or isinstance(
            reply, JoinGroupResponse
        ):
            client.member_id, client.generation = "", -1

    def synced(self, client: Client, reply: object) -> None:
        if not isinstance(reply, SyncGroupResponse) or reply.error_code:
            return
        mine = frozenset(reply.assignment.decode())
        who = client.instance or client.member_id
        self.owned[client.generation, who] = (who, mine)
        for (generation, other), (_, theirs) in self.owned.items():
            if generation == client.generation and other != who:
                assert not mine & theirs, f"{mine & theirs} owned twice at {generation}"

    # What holds after every step.

    @invariant()
    def nothing_committed_is_lost(self) -> None:
        for partition, offset in self.offsets.items():
            assert self.groups.committed(partition) == offset

    @invariant()
    def the_log_tells_what_lives(self) -> None:
        again = self.groups.replayed()
        assert again.classic.stored == self.groups.shard.classic.stored
        live = self.groups.shard.classic.groups.get("g")
        read = again.classic.groups.get("g")
        assert (live is None) == (read is None)
        if live is not None and read is not None and live.state is GroupState.STABLE:
            assert settled(read) == settled(live)
        for partition in range(PARTITIONS):
            assert again.offsets.committed("g", "t", partition) == (
                self.groups.shard.offsets.committed("g", "t", partition)
            )

    @invariant()
    def counters_agree_with_members(self) -> None:
        group = self.groups.shard.classic.groups.get("g")
        if group is None:
            return
        members = group.members.values()
        assert group.joining_count == sum(one.joining is not None for one in members)
        assert group.leader in group.members or (group.leader is None and not group.members)
        assert set(group.static_members.values()) == {
            one.member_id for one in members if one.instance_id is not None
        }
        assert all(group.members[member].member_id == member for member in group.members)

    @invariant()
    def nobody_waits_without_an_end(self) -> None:
        group = self.groups.shard.classic.groups.get("g")
        if group is None or group.state in (GroupState.EMPTY, GroupState.STABLE):
            return
        kinds = {getattr(key, "kind", "") for key in self.groups.timers}
        wanted = "join" if group.state is GroupState.PREPARING_REBALANCE else "sync"
        assert wanted in kinds or not group.pending_syncs


def settled(group: ClassicGroup) -> tuple[object, ...]:
    """What of a stable group is to outlast the process."""
    members: Mapping[str, object] = {
        one.member_id: (
            one.instance_id,
            one.client_id,
            one.session_timeout_ms,
            one.rebalance_timeout_ms,
            one.metadata(group.protocol_name),
            one.assignment,
        )
        for one in group.members.values()
    }
    return group.generation, group.protocol_type, group.protocol_name, group.leader, members


ClassicLife.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_any_life_of_a_classic_group = ClassicLife.TestCase
