"""tidelog log verify and repair, and a broker started on the result."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.log import command
from protocol.records.batch import iterate_batches
from pytest_tidelog.broker import Broker
from tests.interop.clients import CLIENTS, Sent

TOPIC = "rescued"
RECORDS = [Sent(b"key-%d" % n, b"value-%04d" % n * 60) for n in range(300)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    running = Broker(tmp_path / "data", {"log.index.interval.bytes": 512}).start()
    yield running
    running.close()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def fill(broker: Broker) -> None:
    for first in range(0, len(RECORDS), 20):
        batch = RECORDS[first : first + 20]
        CLIENTS["confluent"].produce(broker.bootstrap_servers, TOPIC, batch, "none")


def test_beside_a_running_broker_verify_looks_and_repair_refuses(
    broker: Broker, tmp_path: Path
) -> None:
    fill(broker)
    looked = run("verify", broker.data_dir, "--json")
    assert looked.exit_code == 0, looked.output
    assert json.loads(looked.stdout)["running_broker_pid"] == broker.pid
    refused = run("repair", broker.data_dir, "--to", tmp_path / "new")
    assert refused.exit_code == 1
    assert f"process {broker.pid}" in refused.output
    assert broker.stop() == 0
    assert run("verify", broker.data_dir, "--deep").exit_code == 0


def test_a_broker_serves_from_a_repaired_directory_what_was_not_damaged(
    broker: Broker, tmp_path: Path
) -> None:
    fill(broker)
    assert broker.stop() == 0
    path = broker.data_dir / f"{TOPIC}-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    batches = list(iterate_batches(bytes(data)))
    position = sum(batch.size for batch in batches[:3])
    data[position + 200] ^= 1
    path.write_bytes(data)
    assert run("verify", broker.data_dir).exit_code == 1
    repaired = run("repair", broker.data_dir, "--to", tmp_path / "new", "--json")
    lost = json.loads(repaired.stdout)["lost_offsets"]
    assert lost == batches[3].record_count
    assert run("verify", tmp_path / "new", "--deep").exit_code == 0
    again = Broker(tmp_path / "new").start()
    try:
        found = CLIENTS["confluent"].fetch(again.bootstrap_servers, TOPIC, len(RECORDS) - lost)
        gone = range(batches[3].base_offset, batches[3].next_offset)
        assert found == [each for offset, each in enumerate(RECORDS) if offset not in gone]
        CLIENTS["confluent"].produce(again.bootstrap_servers, TOPIC, RECORDS[:5], "none")
        assert again.stop() == 0
    finally:
        again.close()
    assert run("verify", tmp_path / "new", "--deep").exit_code == 0
