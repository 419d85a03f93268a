"""The broker where neither uvloop nor a compiled kernel is to be had: slower, and the same."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.records import kernel
from pytest_tidelog.broker import Broker
from tests.interop.clients import CLIENTS, CODECS, Sent

# Hides uvloop, loads the kernel from its source, and says so on stderr.
WITHOUT_EXTRAS = """
import importlib.util, sys
sys.modules["uvloop"] = None
name = "protocol.records.kernel"
spec = importlib.util.spec_from_file_location(name, {source!r})
module = sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import protocol.records
protocol.records.kernel = module
print("compiled:", module.COMPILED, file=sys.stderr)
from cli.main import main
main()
"""


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Broker]:
    source = Path(str(kernel.__file__)).parent / "kernel.py"
    broker = Broker(tmp_path / "data")
    broker.command = [sys.executable, "-P", "-c", WITHOUT_EXTRAS.format(source=str(source))]
    broker.start()
    yield broker
    broker.close()


def test_stock_asyncio_and_the_uncompiled_kernel_serve_the_same(plain: Broker) -> None:
    assert "compiled: False" in plain.log
    records = [Sent(f"k{n}".encode(), f"v{n}".encode() * 100, (("h", b"x"),)) for n in range(200)]
    for codec in CODECS:
        client = CLIENTS["confluent"]
        client.create(plain.bootstrap_servers, codec)
        offsets = client.produce(plain.bootstrap_servers, codec, records, codec)
        assert offsets == list(range(200))
    plain.kill()
    plain.start()
    for codec in CODECS:
        assert CLIENTS["confluent"].fetch(plain.bootstrap_servers, codec, 200) == records
