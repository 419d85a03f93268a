"""tidelog configs."""

from tests.interop.cli.conftest import Command, parsed


def test_a_setting_is_changed_shown_with_its_source_and_reset(command: Command) -> None:
    command("topics", "create", "cli-configs")
    changed = command("configs", "alter", "--topic", "cli-configs", "--set", "retention.ms=5000")
    assert changed.exit_code == 0, changed.output
    rows = parsed(command("configs", "describe", "--topic", "cli-configs", "--json"))
    assert [(r["name"], r["value"], r["source"]) for r in rows] == [
        ("retention.ms", "5000", "topic")
    ]
    command("configs", "alter", "--topic", "cli-configs", "--delete", "retention.ms")
    assert "at its default" in command("configs", "describe", "--topic", "cli-configs").output


def test_a_list_is_appended_to(command: Command) -> None:
    command("topics", "create", "cli-append")
    command("configs", "alter", "--topic", "cli-append", "--append", "cleanup.policy=compact")
    rows = parsed(command("configs", "describe", "--topic", "cli-append", "--json"))
    assert [row["value"] for row in rows] == ["delete,compact"]


def test_a_bad_value_is_refused_with_its_rule(command: Command) -> None:
    command("topics", "create", "cli-bad-config")
    bad = command("configs", "alter", "--topic", "cli-bad-config", "--set", "retention.ms=soon")
    assert bad.exit_code == 1
    assert "Not a number of type LONG" in bad.output


def test_either_a_topic_or_a_broker_is_named(command: Command) -> None:
    assert command("configs", "describe").exit_code == 2


def test_broker_settings_are_shown(command: Command) -> None:
    rows = parsed(command("configs", "describe", "--broker", "1", "--all", "--json"))
    assert {"log.dirs", "num.partitions"} <= {row["name"] for row in rows}
