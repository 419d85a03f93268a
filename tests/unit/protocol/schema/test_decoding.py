import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import MalformedFrame
from protocol.schema.primitives import write_varint
from tests.support.message_values import values_of
from tests.unit.protocol.schema.toys import Crowd, Inner, Parcel, Toy


@given(st.data(), st.integers(0, 2))
def test_every_kind_of_field_comes_back(data: st.DataObject, version: int) -> None:
    toy = data.draw(values_of(Toy, version))
    assert Toy.decode(memoryview(toy.encode(version)), version) == toy


def test_large_frames_are_read_in_place() -> None:
    toy = Toy(names=["abc", "ключ"], blobs=[bytes(100_000)], identities=[b"i" * 16])
    assert Toy.decode(memoryview(toy.encode(1)), 1) == toy


def after(toy: Toy, tags: bytes) -> bytes:
    """A version 1 frame whose closing tag section is `tags` instead of none."""
    return toy.encode(1)[:-1] + tags


def test_tags_nobody_knows_are_skipped_and_known_ones_read_in_any_order() -> None:
    numbers = b"\1" + b"\5" + b"\2\0\0\0\7"
    inner = b"\0" + b"\3" + b"\0\4\0"
    unknown = write_varint(300) + b"\2ab"
    toy = Toy.decode(after(Toy(), b"\3" + numbers + unknown + inner), 1)
    assert toy == Toy(tagged_numbers=[7], tagged_inner=Inner(number=4))


def test_more_than_127_tags_are_read() -> None:
    tags = write_varint(128) + (write_varint(300) + b"\0") * 128
    assert Toy.decode(after(Toy(), tags), 1) == Toy()
    crowd = b"\1\0\0" + tags[:2] + tags[2:] + b"\0"
    assert Crowd.decode(crowd, 1) == Crowd()


@pytest.mark.parametrize(
    "tags",
    [
        b"\1\1\6\2\0\0\0\7\0",  # a byte is left in the field
        b"\1\1\4\2\0\0\0\7",  # the field is longer than it says
        b"\1\1\5\2\0\0",  # the frame ends in it
        b"\1\x7f\x7f",  # an unknown field goes beyond the frame
        b"\2\x7f\0",  # a second one is missing
    ],
)
def test_tagged_fields_have_the_size_they_say(tags: bytes) -> None:
    with pytest.raises(MalformedFrame):
        Toy.decode(after(Toy(), tags), 1)


@pytest.mark.parametrize("version", [0, 1])
def test_null_is_refused_where_it_is_not_allowed(version: int) -> None:
    null = b"\0" if version else b"\xff\xff\xff\xff"
    number = b"\0\0\0\1"
    with pytest.raises(MalformedFrame, match="where a value is required"):
        Parcel.decode(number + null + null + number, version)
    with pytest.raises(MalformedFrame, match="where a value is required"):
        Crowd.decode(null + b"\0\0\0", version)


def test_negative_lengths_other_than_null_are_refused() -> None:
    with pytest.raises(MalformedFrame, match="length of -2"):
        Parcel.decode(b"\0\0\0\1\0\0\0\0\xff\xff\xff\xfe\0\0\0\1", 0)


def test_text_that_is_not_utf_8_is_refused() -> None:
    frame = Toy(name="aaaa").encode(1)
    with pytest.raises(MalformedFrame, match="utf-8"):
        Toy.decode(frame.replace(b"aaaa", b"a\xff\xffa"), 1)
