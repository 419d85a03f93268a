"""tidelog topics."""

from tests.interop.cli.conftest import Command, parsed


def test_a_topic_is_created_listed_described_grown_and_deleted(command: Command) -> None:
    assert command("topics", "create", "cli-life", "-p", "2").output == "created cli-life\n"
    listed = {row["topic"]: row for row in parsed(command("topics", "list", "--json"))}
    assert listed["cli-life"]["partitions"] == 2
    described = parsed(command("topics", "describe", "cli-life", "--json"))
    assert [row["partition"] for row in described] == [0, 1]
    assert {(row["start_offset"], row["end_offset"]) for row in described} == {(0, 0)}
    assert command("topics", "alter", "cli-life", "-p", "3").exit_code == 0
    assert len(parsed(command("topics", "describe", "cli-life", "--json"))) == 3
    assert command("topics", "delete", "cli-life").exit_code == 0
    assert "cli-life" not in command("topics", "list").output


def test_a_topic_that_exists_is_an_error_unless_that_is_fine(command: Command) -> None:
    command("topics", "create", "cli-twice")
    again = command("topics", "create", "cli-twice")
    assert again.exit_code == 1
    assert "TOPIC_ALREADY_EXISTS" in again.output
    assert command("topics", "create", "cli-twice", "--if-not-exists").exit_code == 0


def test_validate_only_creates_nothing(command: Command) -> None:
    assert "valid cli-maybe" in command("topics", "create", "cli-maybe", "--validate-only").output
    assert "cli-maybe" not in command("topics", "list").output


def test_a_missing_topic_is_named(command: Command) -> None:
    missing = command("topics", "describe", "cli-nowhere")
    assert missing.exit_code == 1
    assert "no such topic: cli-nowhere" in missing.output
    assert command("topics", "delete", "cli-nowhere").exit_code == 1
    assert command("topics", "delete", "cli-nowhere", "--if-exists").exit_code == 0
