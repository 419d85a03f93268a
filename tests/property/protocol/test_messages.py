"""Every declared message, in every version: what is encoded decodes to the same, and what is not
Kafka's is refused without any other exception and without allocating what it claims to hold."""

import random
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import MalformedFrame
from protocol.schema.message import Message, Request
from tests.support.message_values import every_version, values_of, version_id

VERSIONS = every_version()
FEW = max(settings().max_examples // 12, 5)


@pytest.mark.parametrize(("message", "version"), VERSIONS, ids=version_id)
@settings(max_examples=FEW)
@given(data=st.data())
def test_encoding_then_decoding_gives_the_same_message(
    message: type[Message], version: int, data: st.DataObject
) -> None:
    value = data.draw(values_of(message, version))
    encoded = value.encode(version)
    for buffer in (encoded, bytearray(encoded), memoryview(encoded)):
        assert message.decode(buffer, version) == value
    padded = b"header" + encoded
    assert message.decode(padded, version, 6) == value
    assert b"".join(value.encode_parts(version, b"header")) == padded


@pytest.mark.parametrize(("message", "version"), VERSIONS, ids=version_id)
@settings(max_examples=FEW)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_damaged_frames_decode_or_are_malformed_and_nothing_else(
    message: type[Message], version: int, data: st.DataObject, seed: int
) -> None:
    encoded = bytearray(data.draw(values_of(message, version)).encode(version)[:2000])
    dice = random.Random(seed)
    for _ in range(10):
        damaged = encoded[: dice.randint(0, len(encoded))]
        for _ in range(dice.randint(0, 3)):
            if damaged:
                worst = (0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256))
                damaged[dice.randrange(len(damaged))] = dice.choice(worst)
        try:
            decoded = message.decode(damaged, version)
        except MalformedFrame:
            continue
        again = decoded.encode(version)
        assert message.decode(again, version) == decoded


@pytest.mark.parametrize(("message", "version"), VERSIONS, ids=version_id)
@settings(max_examples=FEW)
@given(data=st.data())
def test_every_shorter_frame_is_malformed(
    message: type[Message], version: int, data: st.DataObject
) -> None:
    encoded = data.draw(values_of(message, version)).encode(version)
    for end in {0, len(encoded) // 2, len(encoded) - 1} - {len(encoded), -1}:
        with pytest.raises(MalformedFrame):
            message.decode(encoded[:end], version)
    if not issubclass(message, Request):
        with pytest.raises(MalformedFrame):
            message.decode(encoded + b"\0", version)


@given(garbage=st.binary(max_size=200), case=st.sampled_from(VERSIONS))
def test_garbage_decodes_or_is_malformed_and_nothing_else(
    garbage: bytes, case: tuple[type[Message], int]
) -> None:
    message, version = case
    try:
        message.decode(garbage, version)
    except MalformedFrame:
        pass


@pytest.mark.parametrize(("message", "version"), VERSIONS, ids=version_id)
def test_memory_stays_bounded_whatever_a_frame_claims(message: type[Message], version: int) -> None:
    claims = [b"\xff\xff\xff\xff\x07" * 40, b"\x7f\xff\xff\xff" * 50, b"\x00\x7f\xff\xff\xff" * 40]
    for claim in claims:
        with suppress(MalformedFrame):
            message.decode(claim, version)  # Compiles, so that it is not measured below.
    tracemalloc.start()
    try:
        for claim in claims:
            with suppress(MalformedFrame):
                message.decode(claim, version)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000
