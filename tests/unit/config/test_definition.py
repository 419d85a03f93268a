"""Keys: texts to values and back, as Java reads and prints them."""

import pytest

from config.definition import Area, ConfigError, to_text


@pytest.fixture
def area() -> Area:
    return Area("Test")


def test_numbers_are_read_within_the_width_of_their_type(area: Area) -> None:
    assert area.integer("i", 0, "").parse(" -12 ") == -12
    assert area.long("l", 0, "").parse("9223372036854775807") == 2**63 - 1
    assert area.short("h", 0, "").parse("+7") == 7
    for key, bad in (
        (area.integer("i", 0, ""), "2147483648"),
        (area.short("h", 0, ""), "32768"),
        (area.long("l", 0, ""), "9223372036854775808"),
        (area.integer("i", 0, ""), "1_000"),
        (area.integer("i", 0, ""), ""),
        (area.integer("i", 0, ""), "١"),
        (area.long("l", 0, ""), "9" * 5000),
    ):
        with pytest.raises(ConfigError, match="Not a number of type"):
            key.parse(bad)


def test_an_error_is_told_to_clients_in_kafkas_words(area: Area) -> None:
    with pytest.raises(ConfigError) as caught:
        area.long("retention.ms", 0, "").parse("x")
    assert caught.value.message == (
        "Invalid value x for configuration retention.ms: Not a number of type LONG"
    )


def test_an_error_is_one_line_with_key_value_source_and_rule() -> None:
    error = ConfigError("a.b", "9", "Value must be at least 10", source="server.properties:3")
    assert str(error) == "a.b=9 (server.properties:3): Value must be at least 10"
    assert str(ConfigError("path", None, "cannot read this file")) == "path: cannot read this file"


def test_a_list_error_is_a_whole_sentence_or_names_the_member(area: Area) -> None:
    from config.checks import members

    key = area.names("cleanup.policy", (), "", check=members("compact", "delete"))
    with pytest.raises(ConfigError) as caught:
        key.parse("compact,foo")
    assert caught.value.message == (
        "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"
    )
    with pytest.raises(ConfigError) as caught:
        key.parse("compact,,")
    assert caught.value.message == "Configuration 'cleanup.policy' values must not be empty."


def test_what_a_list_names_twice_counts_once(area: Area) -> None:
    from config.checks import members

    key = area.names("cleanup.policy", (), "", check=members("compact", "delete"))
    assert key.parse("delete, compact,delete") == ("delete", "compact")
    assert area.names("plain", (), "").parse("a,a") == ("a", "a")


def test_booleans_are_read_in_any_case_and_nothing_else_is(area: Area) -> None:
    key = area.boolean("b", False, "")
    assert key.parse(" TRUE ") is True
    assert key.parse("False") is False
    with pytest.raises(ConfigError, match="Expected value to be either true or false"):
        key.parse("yes")


def test_doubles_refuse_what_only_python_reads(area: Area) -> None:
    key = area.double("d", 0.5, "")
    assert key.parse("1e3") == 1000.0
    for bad in ("1_0", "half", ""):
        with pytest.raises(ConfigError, match="Not a number of type DOUBLE"):
            key.parse(bad)


def test_lists_are_trimmed_and_texts_are_not(area: Area) -> None:
    assert area.names("l", (), "").parse(" a , b,c ") == ("a", "b", "c")
    assert area.names("l", (), "").parse("  ") == ()
    assert area.string("s", "", "").parse(" a ") == " a "
    assert area.plugin("c", None, "").parse(" x.Y ") == "x.Y"


def test_a_secret_is_hidden_in_its_error(area: Area) -> None:
    from config.checks import Broken, Check

    key = area.password("p", "", check=Check("", lambda _name, _value: Broken("too short")))
    assert key.sensitive
    with pytest.raises(ConfigError) as caught:
        key.parse("hunter2")
    assert "hunter2" not in str(caught.value) + caught.value.message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        ((), ""),
        (("a", "b"), "a,b"),
        (9223372036854775807, "9223372036854775807"),
        (0.5, "0.5"),
        (0.0, "0.0"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (0.0001, "1.0E-4"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_values_are_printed_as_java_prints_them(value: object, text: str | None) -> None:
    assert to_text(value) == text


def test_an_area_lends_its_status_and_a_remedy_makes_a_key_refused() -> None:
    area = Area("Later", "kept")
    assert area.integer("a", 1, "").status == "kept"
    refused = area.integer("b", 1, "", remedy="remove this line")
    assert (refused.status, refused.remedy) == ("refused", "remove this line")
    assert repr(refused) == "Key(b)"
    assert refused.text(2) == "2"
