from protocol.schema.source import Source, default_source, smallest_size
from tests.unit.protocol.schema.toys import Crowd, Empty, Inner, Toy


def test_lines_are_indented_by_blocks() -> None:
    source = Source("def f():", {})
    source.open("if x:")
    source.line("y")
    source.close()
    source.line("z")
    assert source.text() == "def f():\n    if x:\n        y\n    z\n"


def test_names_are_never_shared() -> None:
    first = type("Twin", (), {})
    second = type("Twin", (), {})
    source = Source("def f():", {})
    assert source.fresh("a") != source.fresh("a")
    assert source.class_name(first) == source.class_name(first) == "Twin"
    assert source.class_name(second) == "Twin_"


def test_structs_are_made_once() -> None:
    source = Source("def f():", {})
    name = source.struct_call("i?", "pack")
    assert source.struct_call("i?", "pack") == name
    assert source.names[name](1, True) == b"\0\0\0\1\1"  # type: ignore[operator]
    assert source.struct_call("i?", "unpack_from") != name


def test_defaults_are_expressions() -> None:
    source = Source("def f():", {})
    fields = {field.name: field for field in Toy.__fields__}
    assert default_source(fields["numbers"], source) == "[]"
    assert default_source(fields["inner"], source) == "Inner()"
    assert source.names["Inner"] is Inner
    assert default_source(fields["maybe_inner"], source) == "None"
    assert default_source(fields["tagged_name"], source) == "'x'"


def test_the_smallest_size_of_a_value_is_never_more_than_it_takes() -> None:
    assert smallest_size("int64", 0, False) == 8
    assert (smallest_size("string", 0, False), smallest_size("string", 0, True)) == (2, 1)
    assert (smallest_size("array", 0, False), smallest_size("bytes", 0, True)) == (4, 1)
    assert smallest_size(Empty, 0, False) == 1
    assert (smallest_size(Inner, 0, False), smallest_size(Inner, 1, True)) == (2, 3)
    assert smallest_size(Crowd, 1, True) == len(Crowd().encode(1))
    for version in range(3):
        assert smallest_size(Toy, version, version >= 1) == len(Toy().encode(version))
