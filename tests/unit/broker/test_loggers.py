"""Levels of Python's loggers under Kafka's names."""

import logging

import pytest

from broker.loggers import LEVELS, ROOT, PythonLoggers


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.getLogger("tests.loggers.one")
    logger.setLevel(logging.NOTSET)
    return logger


def test_a_logger_has_the_level_it_was_given_and_else_its_parents(
    logger: logging.Logger,
) -> None:
    loggers = PythonLoggers()
    inherited = loggers.levels()[ROOT]
    assert loggers.levels()[logger.name] == inherited
    loggers.set_level(logger.name, "TRACE")
    assert loggers.levels()[logger.name] == "TRACE"
    assert logger.isEnabledFor(5)
    loggers.set_level(logger.name, None)
    assert loggers.levels()[logger.name] == inherited


@pytest.mark.parametrize(
    ("number", "name"), [(1, "TRACE"), (15, "DEBUG"), (30, "WARN"), (50, "FATAL"), (99, "FATAL")]
)
def test_a_level_kafka_has_no_name_for_is_told_as_the_next_lower(
    logger: logging.Logger, number: int, name: str
) -> None:
    logger.setLevel(number)
    assert PythonLoggers().levels()[logger.name] == name
    logger.setLevel(logging.NOTSET)


def test_the_root_can_be_set() -> None:
    before = logging.root.level
    try:
        PythonLoggers().set_level(ROOT, "ERROR")
        assert PythonLoggers().levels()[ROOT] == "ERROR"
    finally:
        logging.root.setLevel(before)


def test_every_level_is_one_that_python_takes_by_name(logger: logging.Logger) -> None:
    for name in LEVELS:
        logger.setLevel(name)
        assert PythonLoggers().levels()[logger.name] == name
    logger.setLevel(logging.NOTSET)
