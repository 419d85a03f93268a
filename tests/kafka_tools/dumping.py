"""Kafka's DumpLogSegments over partition directories: it must have nothing to complain about."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from storage import filenames
from tests.kafka_tools.apache_kafka import run_tool

TOOLS = {
    True: "kafka.tools.DumpLogSegments",
    False: "org.apache.kafka.tools.DumpLogSegments",
}
"""Where it is up to Kafka 3, and since."""
COMPLAINTS = re.compile(
    r"mismatch|invalid|non-?consecutive|not.*in order|out of order|corrupt|fail|error|exception|"
    r"isvalid: false|found \d+ invalid bytes",
    re.IGNORECASE,
)


def dump(jars: Path, paths: Sequence[Path], *options: str) -> str:
    """The tool's findings; with a word of complaint in them this fails."""
    tool = TOOLS[jars.name.startswith("kafka-3")]
    text = run_tool(jars, tool, *options, "--files", ",".join(map(str, paths)))
    found = [
        line
        for line in text.splitlines()
        if COMPLAINTS.search(line) and "payload:" not in line and "headerKeys" not in line
    ]
    assert found == []
    return text


def files(folders: Iterable[Path], *suffixes: str) -> list[Path]:
    """Files of these kinds in the folders."""
    return sorted(
        path for folder in folders for path in folder.iterdir() if path.name.endswith(suffixes)
    )


def check_partitions(jars: Path, folders: list[Path]) -> None:
    """Everything the tool can look at, internal topics through their decoders."""
    indexes = files(folders, filenames.OFFSET_INDEX, filenames.TIME_INDEX)
    dump(jars, indexes, "--index-sanity-check")
    dump(jars, files(folders, filenames.OFFSET_INDEX), "--verify-index-only")
    rest = files(folders, filenames.LOG, filenames.TRANSACTION_INDEX, filenames.SNAPSHOT)
    dump(jars, indexes + rest, "--deep-iteration")
    for topic, decoder in (
        ("__consumer_offsets", "--offsets-decoder"),
        ("__transaction_state", "--transaction-log-decoder"),
    ):
        own = [folder for folder in folders if folder.name.rpartition("-")[0] == topic]
        text = dump(jars, files(own, filenames.LOG), decoder)
        assert "payload: " in text, topic
