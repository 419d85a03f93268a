"""Groups as administrators see them."""

from tests.support.group_shard import GroupTable


def test_a_group_tells_its_metadata_while_it_is_stable() -> None:
    groups = GroupTable()
    a, b = groups.two_members()
    stable = groups.shard.reports.describe("g", 6)
    assert (stable.group_state, stable.protocol_data) == ("Stable", "range")
    assert [(one.member_id, one.member_assignment) for one in stable.members] == [
        (a, b"0"),
        (b, b"1"),
    ]
    assert all(one.member_metadata for one in stable.members)
    groups.join("A", a)
    preparing = groups.shard.reports.describe("g", 6)
    assert (preparing.group_state, preparing.protocol_data) == ("PreparingRebalance", "")
    assert not any(one.member_metadata for one in preparing.members)


def test_a_group_with_nothing_but_offsets_is_empty_and_of_no_protocol() -> None:
    groups = GroupTable()
    groups.commit(5)
    described = groups.shard.reports.describe("g", 6)
    assert (described.error_code, described.group_state) == (0, "Empty")
    (listed,) = groups.shard.reports.listed()
    assert (listed.group_id, listed.protocol_type, listed.group_type) == ("g", "", "classic")


def test_every_group_is_listed_once() -> None:
    groups = GroupTable()
    a, _ = groups.two_members()
    groups.commit(5, a, 1)
    groups.commit(5, group="h")
    assert sorted(one.group_id for one in groups.shard.reports.listed()) == ["g", "h"]


def test_what_does_not_exist_is_dead() -> None:
    assert [GroupTable().shard.reports.describe("g", v).error_code for v in (5, 6)] == [0, 69]
