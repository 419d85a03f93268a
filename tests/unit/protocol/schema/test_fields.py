import pytest

from protocol.schema.fields import array, int32, parse_versions, string, struct
from tests.unit.protocol.schema.toys import Inner, Toy


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0+", [0, 1, 999], [-1]),
        ("9+", [9, 10], [0, 8]),
        ("4-18", [4, 18], [3, 19]),
        ("3", [3], [2, 4]),
        ("none", [], [-1, 0, 1]),
    ],
)
def test_version_ranges(text: str, inside: list[int], outside: list[int]) -> None:
    versions = parse_versions(text)
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)


def test_fields_know_their_versions_and_shape() -> None:
    fields = {field.name: field for field in Toy.__fields__}
    assert fields["late"].in_version(2)
    assert not fields["late"].in_version(1)
    assert fields["names"].nullable_in(1)
    assert not fields["names"].nullable_in(0)
    assert fields["numbers"].makes_list
    assert fields["inner"].makes_struct
    assert not fields["maybe_inner"].makes_struct
    assert not fields["tagged_inner"].makes_struct


def test_arrays_are_of_structs_or_of_kinds() -> None:
    fields = {field.name: field for field in Toy.__fields__}
    assert fields["numbers"].of == "int32"
    assert fields["inners"].of is Inner
    with pytest.raises(KeyError):
        array(struct)


def test_an_option_nobody_knows_is_an_error() -> None:
    with pytest.raises(TypeError, match="no option nulable"):
        string("0+", nulable="0+")
    with pytest.raises(TypeError, match="no option size"):
        int32(size=4)
