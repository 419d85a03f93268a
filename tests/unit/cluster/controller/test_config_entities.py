"""Settings of groups and subscriptions: there while any is set, whatever they are called."""

from collections.abc import AsyncIterator

import pytest

from tests.support.fake_cluster import Machine


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    machine = Machine()
    await machine.prepare()
    yield machine
    await machine.stop()


@pytest.mark.parametrize("entity_type", ["groups", "client-metrics"])
async def test_the_first_makes_the_parent_and_the_last_setting_takes_the_node_away(
    machine: Machine, entity_type: str
) -> None:
    process = await machine.start()
    await process.controller.set_configs(entity_type, "never", {})
    assert f"/config/{entity_type}" not in await machine.nodes()
    await process.controller.set_configs(entity_type, "a/b", {"k": "v"})
    await process.controller.set_configs(entity_type, "c", {"k": "w"})
    await process.controller.set_configs(entity_type, "c", {"k": "x"})
    nodes = await machine.nodes()
    assert nodes[f"/config/{entity_type}"] is None
    assert nodes[f"/config/{entity_type}/a%2Fb"] == b'{"version":1,"config":{"k":"v"}}'
    assert nodes[f"/config/{entity_type}/c"] == b'{"version":1,"config":{"k":"x"}}'
    await process.controller.set_configs(entity_type, "c", {})
    await process.controller.set_configs(entity_type, "c", {})
    assert f"/config/{entity_type}/c" not in await machine.nodes()
    assert process.configs == [
        (entity_type, "never", {}),
        (entity_type, "a/b", {"k": "v"}),
        (entity_type, "c", {"k": "w"}),
        (entity_type, "c", {"k": "x"}),
        (entity_type, "c", {}),
        (entity_type, "c", {}),
    ]


async def test_they_are_known_to_the_cache_and_after_a_restart(machine: Machine) -> None:
    process = await machine.start()
    await process.controller.set_configs("groups", "1", {"k": "v"})
    await process.controller.set_configs("client-metrics", "s", {"metrics": "*"})
    await process.stop()
    again = await machine.start()
    for metadata in (process.metadata, again.metadata):
        assert (metadata.group_configs.names(), metadata.group_configs.of("1")) == (
            ["1"],
            {"k": "v"},
        )
        assert metadata.client_metrics.of("s") == {"metrics": "*"}
    assert again.configs == [("groups", "1", {"k": "v"}), ("client-metrics", "s", {"metrics": "*"})]
    await again.controller.set_configs("groups", "2", {"k": "v"})
    assert again.metadata.group_configs.names() == ["1", "2"]


async def test_a_change_is_made_to_what_is_stored(machine: Machine) -> None:
    process = await machine.start()
    for _ in range(2):
        await process.controller.change_configs(
            "groups", "g", lambda held: {**held, f"k{len(held)}": "v"}
        )
    assert process.metadata.group_configs.of("g") == {"k0": "v", "k1": "v"}
