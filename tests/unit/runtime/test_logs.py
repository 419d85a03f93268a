"""Log lines are one line each, and peers cannot make them endless."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from runtime.logs import Occasional, configure


@pytest.fixture(autouse=True)
def keep_root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_text_lines_name_level_message_and_logger() -> None:
    stream = io.StringIO()
    configure("text", "info", stream)
    logging.getLogger("some.place").info("it is %s", "so")
    logging.getLogger("some.place").debug("not shown")
    assert stream.getvalue().endswith("INFO it is so (some.place)\n")
    assert stream.getvalue().count("\n") == 1


def test_json_lines_are_one_object_each_even_with_an_exception() -> None:
    stream = io.StringIO()
    configure("json", "WARNING", stream)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("some.place").exception("failed")
    [line] = stream.getvalue().splitlines()
    fields = json.loads(line)
    assert fields["level"] == "ERROR"
    assert fields["message"] == "failed"
    assert "two\nlines" in fields["exception"]


def test_configuring_again_replaces_the_first_configuration() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure("text", "info", first)
    configure("json", "info", second)
    logging.getLogger("x").info("once")
    assert first.getvalue() == ""
    assert json.loads(second.getvalue())["message"] == "once"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="text, json"):
        configure("xml", "info")


def test_a_burst_is_written_the_rest_counted_and_told_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [100.0]
    occasional = Occasional(logging.getLogger("peer"), lambda: now[0], interval_s=1.0, burst=3)
    with caplog.at_level(logging.WARNING):
        for number in range(10):
            occasional.warning("bad frame %d", number)
        assert caplog.messages == ["bad frame 0", "bad frame 1", "bad frame 2"]
        assert occasional.suppressed == 7
        now[0] += 1.0
        occasional.warning("bad frame %d", 10)
    assert caplog.messages[3:] == ["bad frame 10 (and 7 such lines not written)"]
    assert occasional.suppressed == 0
