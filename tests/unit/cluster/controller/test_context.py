from cluster import znodes
from cluster.controller.context import ControllerContext, creation
from cluster.controller.topics import TopicPlan
from cluster.store.port import Create, Set, Znode
from protocol.model import TopicPartition
from tests.support.fake_cluster import BROKER

ID = b"i" * 16
STATE = znodes.PartitionState(1, 4, (1,), 2, 7)


def node(data: bytes | None, version: int = 0) -> Znode:
    return Znode(data, version, 1)


def loaded() -> ControllerContext:
    context = ControllerContext()
    context.load(
        {
            "/brokers/topics": node(None),
            "/brokers/topics/a.b/partitions/0/state": node(znodes.encode_partition_state(STATE), 7),
            "/brokers/topics/a.b": node(znodes.encode_topic(ID, {0: (1,), 1: (1, 2)})),
            "/brokers/topics/a.b/partitions": node(None),
            "/brokers/topics/a.b/partitions/0": node(None),
            "/brokers/topics/a.b/partitions/9/state": node(znodes.encode_partition_state(STATE), 7),
            "/brokers/topics/gone/partitions/0/state": node(
                znodes.encode_partition_state(STATE), 7
            ),
            "/brokers/topics/marked": node(znodes.encode_topic(b"j" * 16, {0: (1,)})),
        },
        {
            "/config": node(None),
            "/config/topics": node(None),
            "/config/topics/a.b": node(znodes.encode_config({"k": "v"})),
            "/config/brokers/<default>": node(znodes.encode_config({"x": "y"})),
            "/config/groups": node(None),
            "/config/groups/a%2Fb": node(znodes.encode_config({"g": "h"})),
            "/config/users/u": node(znodes.encode_config({"x": "y"})),
        },
        ["marked"],
    )
    context.brokers[1] = BROKER
    return context


def test_the_store_is_read_whatever_the_order_of_its_nodes() -> None:
    context = loaded()
    assert context.topics["a.b"].replicas == {0: (1,), 1: (1, 2)}
    assert context.topics["a.b"].states == {0: STATE}
    assert context.names_by_id[ID] == "a.b"
    assert context.names.colliding("a_b") == "a.b"
    assert context.configs == {
        "topics": {"a.b": {"k": "v"}},
        "brokers": {"<default>": {"x": "y"}},
        "groups": {"a/b": {"g": "h"}},
        "client-metrics": {},
    }
    assert context.config_parents == {"/config/topics", "/config/groups"}


def test_topics_to_be_deleted_are_not_served() -> None:
    assert list(loaded().served()) == [TopicPartition("a.b", 0), TopicPartition("a.b", 1)]


def test_a_partition_without_leadership_is_told_to_nobody() -> None:
    context = loaded()
    assert context.leader_and_isr(TopicPartition("a.b", 1), is_new=False) is None
    assert context.partition_metadata(TopicPartition("a.b", 1)) is None


def test_messages_carry_the_stored_leadership() -> None:
    context = loaded()
    tp = TopicPartition("a.b", 0)
    context.offline[tp] = {1}
    message = context.leader_and_isr(tp, is_new=True)
    assert message == (tp, ID, 1, 4, (1,), 7, (1,), True)
    metadata = context.partition_metadata(tp)
    assert metadata == (tp, ID, 1, 4, (1,), 7, (1,), (1,))


def test_a_removed_topic_is_forgotten_altogether() -> None:
    context = loaded()
    context.offline[TopicPartition("a.b", 0)] = {1}
    context.remove("a.b")
    context.remove("never there")
    assert "a.b" not in context.topics
    assert ID not in context.names_by_id
    assert context.names.colliding("a_b") is None
    assert context.offline == {}
    assert "a.b" not in context.configs["topics"]


def test_unclean_election_is_allowed_by_the_topics_own_config() -> None:
    context = loaded()
    assert not context.allows_unclean_election("a.b")
    context.configs["topics"]["a.b"] = {"unclean.leader.election.enable": "true"}
    assert context.allows_unclean_election("a.b")


def test_configs_are_written_before_the_topic_and_over_what_is_there() -> None:
    plan = TopicPlan("t", ID, {0: (1,)}, {})
    fresh, over = creation(plan, has_configs=False), creation(plan, has_configs=True)
    assert [operation.path for operation in fresh] == [
        "/config/topics/t",
        "/brokers/topics/t",
        "/brokers/topics/t/partitions",
    ]
    assert isinstance(fresh[0], Create)
    assert isinstance(over[0], Set)
