"""tidelog doctor: findings, remedies, exit code."""

from pathlib import Path

from cli.doctor import check_connection, check_disk, check_file_limit
from pytest_tidelog.broker import Broker
from tests.interop.cli.conftest import Command, parsed


def test_a_healthy_broker_has_no_failure(command: Command) -> None:
    findings = parsed(command("doctor", "--json"))
    assert {finding["state"] for finding in findings} <= {"ok", "warning"}
    assert any(finding["what"].startswith("advertised address") for finding in findings)
    assert any(finding["what"].startswith("disk of") for finding in findings)


def test_nobody_at_the_address_is_a_failure_with_a_remedy(command: Command) -> None:
    nobody = command("doctor", "-b", "127.0.0.1:1", "--json")
    assert nobody.exit_code == 1
    assert "start the broker" in nobody.output


def test_an_advertised_address_that_cannot_be_reached_is_found(
    command: Command, tmp_path: Path
) -> None:
    settings = {"advertised.listeners": "PLAINTEXT://127.0.0.1:1"}
    broker = Broker(tmp_path / "data", settings).start()
    try:
        found = command("doctor", "-b", broker.bootstrap_servers, "--json")
        assert found.exit_code == 1
        assert "advertised.listeners" in found.output
    finally:
        broker.close()


def test_a_connection_is_tried_for_real(tidelog: Broker) -> None:
    host, _, port = tidelog.bootstrap_servers.rpartition(":")
    assert check_connection(host, int(port), "it", "").state == "ok"
    assert check_connection(host, 1, "it", "").state == "failure"


def test_a_low_file_limit_and_a_missing_folder_are_told(tmp_path: Path) -> None:
    assert check_file_limit(1024, 4096).state == "warning"
    assert check_file_limit(1024, 1_000_000).state == "ok"
    assert check_disk(tmp_path / "missing").state == "failure"
