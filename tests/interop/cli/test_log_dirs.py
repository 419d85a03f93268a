"""tidelog log-dirs."""

from pathlib import Path

from click.testing import CliRunner

from cli.main import main
from pytest_tidelog.broker import Broker
from tests.interop.cli.conftest import Command, parsed


def test_directories_and_replicas_are_listed(command: Command) -> None:
    command("topics", "create", "cli-dirs", "-p", "2")
    (directory,) = parsed(command("log-dirs", "list", "--json"))
    assert directory["state"] == "online"
    assert directory["replicas"] >= 2
    assert directory["free_bytes"] > 0
    replicas = parsed(command("log-dirs", "list", "cli-dirs", "--json"))
    assert sorted(one["partition"] for one in replicas) == [0, 1]
    assert "cli-dirs" in command("log-dirs", "list", "cli-dirs").output
    assert command("log-dirs", "list", "cli-none").output == "no replicas of cli-none\n"


def test_what_a_broker_refuses_is_named(command: Command) -> None:
    command("topics", "create", "cli-still")
    refused = command("log-dirs", "move", "cli-still", "0", "/nowhere")
    assert refused.exit_code == 1
    assert "LOG_DIR_NOT_FOUND" in refused.output
    assert (
        "no such broker: 7"
        in command("log-dirs", "move", "cli-still", "0", "/nowhere", "--broker", "7").output
    )


def test_a_replica_is_moved_and_waited_for(tmp_path: Path) -> None:
    dirs = [str(tmp_path / name) for name in ("one", "two")]
    broker = Broker(Path(",".join(dirs))).start()
    try:

        def run(*arguments: str) -> str:
            done = CliRunner().invoke(main, [*arguments, "-b", broker.bootstrap_servers])
            assert done.exit_code == 0, done.output
            return done.output

        run("topics", "create", "goes")
        assert run("log-dirs", "move", "goes", "0", dirs[1]) == f"moved goes-0 to {dirs[1]}\n"
        assert (tmp_path / "two" / "goes-0").is_dir()
        assert "moving" in run("log-dirs", "move", "goes", "0", dirs[0], "--no-wait")
    finally:
        broker.close()
