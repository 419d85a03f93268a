import pytest

from tests.unit.protocol.schema.toys import Inner, Parcel, Toy


def test_nullable_values_tell_null_from_empty() -> None:
    for version in (0, 1, 2):
        for toy in (
            Toy(nickname=None, maybe_blob=None, maybe_inner=None),
            Toy(nickname="", maybe_blob=b"", maybe_inner=Inner()),
        ):
            assert Toy.decode(toy.encode(version), version) == toy
    assert Toy.decode(Toy(names=None).encode(1), 1).names is None


def test_a_struct_that_may_be_null_has_a_byte_before_it() -> None:
    class_size = len(Inner(number=1).label or "") + 2
    present, absent = Toy(maybe_inner=Inner(number=1)).encode(0), Toy().encode(0)
    assert len(present) - len(absent) == class_size
    assert b"\x01\x00\x01" in present


def test_tagged_fields_are_written_in_order_of_their_tags_and_only_when_set() -> None:
    toy = Toy(tagged_numbers=[7], tagged_inner=Inner(number=4))
    assert toy.encode(1) == Toy().encode(1)[:-1] + b"\2" + b"\0\3\0\4\0" + b"\1\5\2\0\0\0\7"
    assert Toy(tagged_name="x").encode(2) == Toy().encode(2)
    assert Toy(tagged_name="").encode(2) != Toy().encode(2)
    assert Toy(tagged_list=None).encode(2).endswith(b"\1\3\1\0")


def test_a_tagged_field_inside_a_tagged_struct() -> None:
    toy = Toy(tagged_inner=Inner(number=4, label="ab"), tagged_numbers=[1])
    assert toy.encode(1).endswith(b"\2\0\x08\0\4\1\0\3\3ab" + b"\1\5\2\0\0\0\1")
    assert Toy.decode(toy.encode(1), 1) == toy


def test_what_a_version_lacks_is_dropped_or_refused_as_declared() -> None:
    assert Toy(late=99).encode(1) == Toy().encode(1)
    for toy in (Toy(demanded=9), Toy(demanded_list=[1])):
        assert toy.encode(2)
        with pytest.raises(ValueError, match="version 1 has no demanded"):
            toy.encode(1)


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 16382, 16383, 32767])
def test_compact_lengths_of_every_width(length: int) -> None:
    toy = Toy(name="x" * length, blob=bytes(length), numbers=[1] * length)
    assert Toy.decode(toy.encode(1), 1) == toy
    parcel = Parcel(records=bytes(length))
    assert Parcel.decode(parcel.encode(1), 1) == parcel
