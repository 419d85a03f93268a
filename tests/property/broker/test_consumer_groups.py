"""Any life of a consumer group: members that come, go, lie, repeat themselves and die, topics that
come and go, and a broker that restarts, with records refused now and then.

    no partition has two owners, and no client uses what another may still use
    what the log says is what lives, after every step
    epochs of the group and of each member never go back
    a request sent again changes nothing
    left alone, everybody comes to a target that covers every partition once
"""

from collections.abc import Iterator
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
)

from broker.coordinator.group.consumer_group import ConsumerGroup
from protocol.errors import ErrorCode
from tests.support.consumer_groups import REBALANCE_MS, ConsumerTable, state_of
from tests.support.group_shard import Values

TOPICS: Final = "tuv"
SUBSCRIPTIONS: Final = (("t",), ("u",), ("t", "u"), ("t", "u", "v"), ())
REGEXES: Final = (None, "", "t|v", "[tu]")
INSTANCES: Final = (None, None, "one", "two")
NOT_NOW: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE.name
_DROPS_EVERYTHING: Final = (
    "FENCED_MEMBER_EPOCH",
    "UNKNOWN_MEMBER_ID",
    "GROUP_ID_NOT_FOUND",
    "UNRELEASED_INSTANCE_ID",
)


class Client:
    """A consumer: what it was told last, and so uses."""

    def __init__(self, member_id: str, instance: str | None) -> None:
        self.member_id = member_id
        self.instance = instance
        self.epoch = 0
        self.owned: list[str] = []


class ConsumerLife(RuleBasedStateMachine):
    """See the module."""

    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        values = Values()
        values.max_size = 4
        self.groups = ConsumerTable(values, t=3, u=2)
        self.count = 0
        self.live: dict[str, Client] = {}
        self.group_epoch = 0
        self.member_epochs: dict[str, int] = {}

    # What clients do.

    @rule(
        target=clients,
        instance=st.sampled_from(INSTANCES),
        topics=st.sampled_from(SUBSCRIPTIONS),
        regex=st.sampled_from(REGEXES),
        assignor=st.sampled_from((None, "range")),
    )
    def start(
        self, instance: str | None, topics: tuple[str, ...], regex: str | None, assignor: str | None
    ) -> Client:
        self.count += 1
        client = Client(f"c{self.count}", instance)
        told = self.groups.come(
            client.member_id,
            topics,
            instance_id=instance,
            subscribed_topic_regex=regex,
            server_assignor=assignor,
        )
        self._hear(client, told)
        return client

    @rule(client=clients, topics=st.sampled_from(SUBSCRIPTIONS))
    def join_again(self, client: Client, topics: tuple[str, ...]) -> None:
        self._come(client, topics, instance_id=client.instance)

    @rule(client=clients)
    def report(self, client: Client) -> None:
        self._beat(client, client.owned)

    @rule(client=clients)
    def live_on(self, client: Client) -> None:
        self._beat(client, None)

    @rule(client=clients, topics=st.sampled_from(SUBSCRIPTIONS), regex=st.sampled_from(REGEXES))
    def want_else(self, client: Client, topics: tuple[str, ...], regex: str | None) -> None:
        told = self.groups.beat(
            client.member_id,
            epoch=client.epoch or 1,
            subscribed_topic_names=list(topics),
            subscribed_topic_regex=regex,
        )
        self._hear(client, told)

    @rule(client=clients)
    def repeat(self, client: Client) -> None:
        """An answer was lost: the same request again is taken, and comes to the same."""
        epoch, owned = client.epoch or 1, list(client.owned)
        first = self.groups.beat(client.member_id, owned, epoch=epoch)
        if not first[0].isdigit():
            self._hear(client, first)
            return
        assert self.group is not None
        group_epoch, member = self.group.epoch, self.group.members[client.member_id].current
        second = self.groups.beat(client.member_id, owned, epoch=epoch)
        if second != NOT_NOW:
            assert second.partition(":")[0] == first.partition(":")[0]
        assert self.group.epoch == group_epoch
        assert self.group.members[client.member_id].current.assigned == member.assigned
        self._come(client, None, subscribed_topic_regex="")

    @rule(client=consumes(clients))
    def leave(self, client: Client) -> None:
        self.groups.leave_group(client.member_id, instance_id=client.instance)
        self.live.pop(client.member_id, None)

    @rule(client=clients)
    def leave_for_a_while(self, client: Client) -> None:
        if client.instance is not None:
            told = self.groups.leave_for_a_while(client.member_id, client.instance)
            if told == "-2":
                self.live.pop(client.member_id, None)
                client.owned, client.epoch = [], 0

    @rule(client=clients, epoch=st.integers(-1, 9))
    def lie(self, client: Client, epoch: int) -> None:
        if epoch > 0:
            self.groups.beat(client.member_id, ["t0", "u1"], epoch=epoch)
            self.groups.epochs[client.member_id] = client.epoch
            self._resync(client)

    # What happens around them.

    @rule(milliseconds=st.sampled_from((0, 1, 500, 1000, 10_001, 44_000, REBALANCE_MS)))
    def time_passes(self, milliseconds: int) -> None:
        self.groups.advance(milliseconds)
        group = self.group
        for member_id in [*self.live]:
            if group is None or member_id not in group.members:
                del self.live[member_id]

    @rule()
    def restart(self) -> None:
        self.groups.restart()

    @rule()
    def refuse_next(self) -> None:
        self.groups.refuse_appends = ErrorCode.COORDINATOR_NOT_AVAILABLE

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(1, 4))
    def create_topic(self, name: str, partitions: int) -> None:
        image = self.groups.metadata.topic(name)
        if image is None or len(image.partitions) < partitions:
            self.groups.create_topic(name, partitions)

    @precondition(lambda self: self.groups.metadata.topic("v") is not None)
    @rule()
    def delete_topic(self) -> None:
        self.groups.delete_topic("v")
        for client in self.live.values():
            client.owned = [one for one in client.owned if one[0] != "v"]

    @rule()
    def everybody_settles(self) -> None:
        """All who live heartbeat on: they share everything they want, and nothing twice."""
        self.groups.refuse_appends = None
        for _ in range(8):
            self.groups.advance(10_001 if _ % 4 == 0 else 1000)
            for client in [*self.live.values()]:
                self._beat(client, client.owned)
        group = self.group
        if group is None or not self.live or group.members.keys() != self.live.keys():
            return
        assert group.state.value == "Stable"
        wanted = {
            f"{name}{one.partition}"
            for name, image in self.groups.metadata.topics().items()
            if group.is_subscribed(name)
            for one in image.partitions
        }
        owned = [place for client in self.live.values() for place in client.owned]
        assert sorted(owned) == sorted(wanted)

    # What always holds.

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        owners = [*self._owners()]
        assert len(owners) == len(set(owners))
        used = [place for client in self.live.values() for place in client.owned]
        assert len(used) == len(set(used))

    @invariant()
    def the_log_tells_what_lives(self) -> None:
        lived = self.groups.shard.consumer.groups
        replayed = self.groups.replayed().consumer.groups
        assert {name: state_of(group) for name, group in replayed.items()} == {
            name: state_of(group) for name, group in lived.items()
        }

    @invariant()
    def epochs_never_go_back(self) -> None:
        group = self.group
        if group is None:
            self.group_epoch, self.member_epochs = 0, {}
            return
        assert group.epoch >= self.group_epoch
        assert group.assignment_epoch <= group.epoch
        self.group_epoch = group.epoch
        epochs = {one.member_id: one.current.epoch for one in group.members.values()}
        for member_id, epoch in epochs.items():
            assert epoch in (-2,) or epoch >= self.member_epochs.get(member_id, 0)
            assert epoch <= group.epoch
        self.member_epochs = epochs

    # Words.

    @property
    def group(self) -> ConsumerGroup | None:
        return self.groups.shard.consumer.groups.get("g")

    def _owners(self) -> Iterator[tuple[bytes, int]]:
        if self.group is not None:
            for member in self.group.members.values():
                for owned in (member.current.assigned, member.current.revoking):
                    for topic, partitions in owned.items():
                        yield from ((topic, one) for one in partitions)

    def _beat(self, client: Client, owned: list[str] | None) -> str:
        told = self.groups.beat(client.member_id, owned, epoch=client.epoch or 1)
        self._hear(client, told)
        return told

    def _come(self, client: Client, topics: tuple[str, ...] | None, **fields: str | None) -> None:
        """Join with nothing in hand, until that is answered."""
        client.owned = []
        told = NOT_NOW
        while told == NOT_NOW:
            told = self.groups.come(client.member_id, topics, **fields)
        self._hear(client, told)

    def _hear(self, client: Client, told: str) -> None:
        """Do as a client does: an assignment is an order, a fenced one drops everything."""
        if told in _DROPS_EVERYTHING:
            self.live.pop(client.member_id, None)
            client.owned, client.epoch = [], 0
            return
        if not told[0].isdigit():
            return
        epoch, colon, places = told.partition(":")
        client.epoch = int(epoch)
        self.live[client.member_id] = client
        if colon:
            client.owned = places.split()

    def _resync(self, client: Client) -> None:
        """A lie that was believed may have taken partitions: the client learns of it."""
        if self.live.get(client.member_id) is client and client.epoch:
            self._come(client, ("t",))


ConsumerLife.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_any_life_of_a_consumer_group = ConsumerLife.TestCase
