"""Answers of a turn are collected with their sizes, and slices in them never leak."""

import struct

import pytest

from broker.network.answers import Answers, settle
from broker.network.transmission import BrokenAnswer
from broker.request_metrics import RequestMetrics
from tests.support.network import Slice, joined


def test_each_answer_has_its_size_before_it() -> None:
    answers = Answers()
    assert answers.add([b"one"]) == 7
    assert answers.add([b"two", bytearray(b"three"), memoryview(b"four")]) == 16
    assert joined(answers.parts) == b"\0\0\0\3one\0\0\0\x0ctwothreefour"
    assert answers.nbytes == 23
    assert not answers.has_slices


def test_small_slices_become_bytes_and_are_released() -> None:
    answers = Answers()
    small = Slice(b"slice", position=9)
    answers.add([b"head", small])
    assert joined(answers.parts) == struct.pack(">i", 9) + b"headslice"
    assert small.released == 1
    assert not answers.has_slices


def test_large_slices_stay_slices_and_count() -> None:
    answers = Answers()
    large = Slice(bytes(20_000))
    assert answers.add([b"head", large]) == 4 + 4 + 20_000
    assert answers.has_slices
    assert answers.parts[0] == struct.pack(">i", 20_004)
    answers.discard()
    assert large.released == 1
    assert (answers.parts, answers.nbytes, answers.has_slices) == ([], 0, False)


def test_a_short_small_slice_releases_those_behind_it() -> None:
    answers = Answers()
    before, short, behind = Slice(bytes(20_000)), Slice(b"x", promised=2), Slice(bytes(20_000))
    with pytest.raises(BrokenAnswer):
        answers.add([before, short, behind])
    answers.discard()
    assert (before.released, short.released, behind.released) == (1, 1, 1)


def test_settling_tells_each_request_when_it_was_sent() -> None:
    metrics = RequestMetrics("Test")
    settle([(metrics, (1.0, 2.0, 3.0, 4.0, 100)), (metrics, (1.0, 3.0, 4.0, 4.0, 50))], 5.0)
    assert metrics.count == 2
    assert metrics.response_bytes == 150
    assert metrics.total_s == 8.0
