"""Whose the directories are, and whose metadata: any doubt ends in one line."""

from pathlib import Path

import click
import pytest

from cli.carrying import find_kraft, opened, refuse
from cluster.store.embedded import STORE_FILE
from runtime.disk import OsDisk
from storage.log_dirs import MetaProperties, write_meta_properties
from tests.support.kafka_directories import CLUSTER, stopped_kraft_broker


def kafka_directory(folder: Path, node: int = 1, cluster: str = CLUSTER) -> str:
    folder.mkdir()
    write_meta_properties(OsDisk(), str(folder), MetaProperties(1, node, cluster, None), 0)
    return str(folder)


def refusal(*paths: str) -> str:
    with pytest.raises(click.ClickException) as caught, opened(paths):
        pass
    return caught.value.message


def test_directories_are_locked_until_the_end(tmp_path: Path) -> None:
    one = kafka_directory(tmp_path / "one")
    with opened([one]) as found:
        assert found.identity == (1, CLUSTER)
        assert found.store_file == f"{one}/{STORE_FILE}"
        assert "Another broker process is using" in refusal(one)
    with opened([one]):
        pass


def test_what_is_no_log_directory_is_refused(tmp_path: Path) -> None:
    assert "has no meta.properties" in refusal(str(tmp_path))


def test_directories_of_two_brokers_are_refused(tmp_path: Path) -> None:
    one, two = kafka_directory(tmp_path / "one"), kafka_directory(tmp_path / "two", node=2)
    assert "log directories disagree" in refusal(one, two)


def test_damaged_meta_properties_are_named(tmp_path: Path) -> None:
    one = kafka_directory(tmp_path / "one")
    Path(one, "meta.properties").write_text("version=7\n")
    assert "unrecognized version 7" in refusal(one)


def test_the_directory_with_the_store_comes_first(tmp_path: Path) -> None:
    one, two = kafka_directory(tmp_path / "one"), kafka_directory(tmp_path / "two")
    Path(two, STORE_FILE).write_bytes(b"")
    assert "name it first" in refusal(one, two)


def test_the_metadata_log_is_found_in_any_directory_or_where_it_is_said_to_be(
    tmp_path: Path,
) -> None:
    one = kafka_directory(tmp_path / "one")
    stopped_kraft_broker(tmp_path / "two")
    with opened([one]) as found:
        assert find_kraft(found, None) is None
        for named in (tmp_path / "two", tmp_path / "two" / "__cluster_metadata-0"):
            assert find_kraft(found, str(named)) == str(tmp_path / "two")
        with pytest.raises(click.ClickException, match="has no __cluster_metadata-0"):
            find_kraft(found, one)
    with opened([one, str(tmp_path / "two")]) as found:
        assert find_kraft(found, None) == str(tmp_path / "two")


def test_the_metadata_log_of_another_cluster_is_refused(tmp_path: Path) -> None:
    one = kafka_directory(tmp_path / "one", cluster="fZSON9t1SVCaDJyFHjGfqw")
    stopped_kraft_broker(tmp_path / "two")
    with opened([one]) as found, pytest.raises(click.ClickException, match="is of cluster"):
        find_kraft(found, str(tmp_path / "two"))


def test_every_refusal_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    refuse([], "no", False, {})
    with pytest.raises(click.ClickException) as caught:
        refuse(["one", "two"], "not done:", False, {})
    assert caught.value.message == "not done:\n  one\n  two"
    with pytest.raises(SystemExit):
        refuse(["one"], "not done:", True, {"topics": []})
    assert '"refusals": [\n    "one"\n  ]' in capsys.readouterr().out
