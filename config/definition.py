"""The language settings are declared in: a `Key` says all there is to know of one setting.

Keys are plain objects made by an `Area`, one call each, so that declaring all of Kafka's costs a
start-up well under a millisecond. Names, types, defaults, ranges and scopes are those that Kafka
4.3.1 lists (`ConfigDef.java`, `DynamicBrokerConfig.java`); texts are our own.
"""

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from config.checks import Check, in_range

T = TypeVar("T")
B = TypeVar("B", bound=bool | None)
N = TypeVar("N", bound=int | None)
F = TypeVar("F", bound=float | None)
S = TypeVar("S", bound=str | None)

Live = Callable[[], T]

# How far a setting may change while the broker runs.
READ_ONLY = "read-only"
CLUSTER_WIDE = "cluster-wide"  # per broker, or as the default of all
PER_BROKER = "per-broker"

# What this broker does with a setting.
HONOURED = "honoured"
KEPT = "kept"  # accepted and shown; its subject is not built yet
NO_EFFECT = "no effect"  # accepted and shown; what it tunes does not exist in this design
REFUSED = "refused"  # anything but the default stops the start

MAX_INT = 2147483647
MAX_LONG = 9223372036854775807
_BOUNDS = {"int": MAX_INT, "short": 32767, "long": MAX_LONG}


class ConfigError(Exception):
    """A value that a setting cannot take; `source` says where it was written.

    `message` is Kafka's wording for clients, `str()` one line for the person who starts the broker.
    """

    def __init__(
        self,
        key: str,
        value: str | None,
        rule: str,
        *,
        source: str | None = None,
        message: str | None = None,
    ) -> None:
        super().__init__(key, value, rule)
        self.key = key
        self.value = value
        self.rule = rule
        self.source = source
        self.message = message or f"Invalid value {value} for configuration {key}: {rule}"

    def __str__(self) -> str:
        setting = self.key if self.value is None else f"{self.key}={self.value}"
        origin = f" ({self.source})" if self.source else ""
        return f"{setting}{origin}: {self.rule}"


class Key(Generic[T]):
    """One setting: what it is called, what it may hold, who may change it, and what it is for."""

    __slots__ = (
        "area",
        "check",
        "default",
        "doc",
        "dynamic",
        "internal",
        "name",
        "remedy",
        "status",
        "tolerated",
        "type",
    )

    def __init__(self, area: str, name: str, type_: str, default: T, doc: str) -> None:
        self.area = area
        self.name = name
        self.type = type_
        self.default: T = default
        self.doc = doc
        self.check: Check | None = None
        self.dynamic = READ_ONLY
        self.internal = False
        self.status = HONOURED
        self.remedy: str | None = None
        self.tolerated: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Key({self.name})"

    @property
    def sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.type == "password"

    def parse(self, text: str) -> T:
        """The typed value of `text`. Raises ConfigError for a wrong type or a broken rule."""
        value: T = self._convert(text)
        if self.check is not None:
            if self.check.folds:
                value = _folded(value)
            fault = self.check.find_fault(self.name, value)
            if fault is not None:
                shown = "[hidden]" if self.sensitive else text.strip()
                raise ConfigError(
                    self.name,
                    shown if fault.value is None else str(fault.value),
                    fault.rule,
                    message=fault.rule if fault.whole else None,
                )
        return value

    def text(self, value: T) -> str | None:
        """`value` as Kafka prints it; None stays None."""
        return to_text(value)

    def _convert(self, text: str) -> Any:
        kind = self.type
        if kind in ("string", "password"):
            return text
        text = text.strip()
        if kind == "class":
            return text
        if kind == "list":
            return tuple(member.strip() for member in text.split(",")) if text else ()
        if kind == "boolean":
            return self._boolean(text)
        if kind == "double":
            return self._double(text)
        return self._integer(text)

    def _boolean(self, text: str) -> bool:
        lowered = text.lower()
        if lowered not in ("true", "false"):
            raise ConfigError(self.name, text, "Expected value to be either true or false")
        return lowered == "true"

    def _double(self, text: str) -> float:
        try:
            if "_" not in text:
                return float(text)
        except ValueError:
            pass
        raise ConfigError(self.name, text, "Not a number of type DOUBLE")

    def _integer(self, text: str) -> int:
        digits = text[1:] if text[:1] in ("-", "+") else text
        if digits.isascii() and digits.isdecimal() and len(digits) <= 40:
            value = int(text)
            bound = _BOUNDS[self.type]
            if -bound - 1 <= value <= bound:
                return value
        raise ConfigError(self.name, text, f"Not a number of type {self.type.upper()}")


def _folded(value: Any) -> Any:
    return None if value is None else tuple(dict.fromkeys(value))


def to_text(value: Any) -> str | None:
    """`value` as Kafka prints it: `true`, `1.0E7`, list members joined by commas."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double_text(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def _double_text(value: float) -> str:
    """`value` as Java's `Double.toString`: scientific from 1E7 on and below 0.001."""
    if not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    for precision in range(1, 18):
        mantissa, _, exponent = format(value, f".{precision}e").partition("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    return f"{mantissa}E{int(exponent)}"


class Area:
    """Settings on one subject, in the order they are declared."""

    __slots__ = ("keys", "remedy", "status", "title")

    def __init__(self, title: str, status: str = HONOURED, *, remedy: str | None = None) -> None:
        self.title = title
        self.status = status
        self.remedy = remedy
        self.keys: list[Key[Any]] = []

    def boolean(self, name: str, default: B, doc: str, **traits: Any) -> Key[bool | B]:
        """Declare a setting that is true or false."""
        return self._declare(name, "boolean", default, doc, traits)

    def integer(self, name: str, default: N, doc: str, **traits: Any) -> Key[int | N]:
        """Declare a 32-bit number."""
        return self._declare(name, "int", default, doc, traits)

    def long(self, name: str, default: N, doc: str, **traits: Any) -> Key[int | N]:
        """Declare a 64-bit number."""
        return self._declare(name, "long", default, doc, traits)

    def short(self, name: str, default: N, doc: str, **traits: Any) -> Key[int | N]:
        """Declare a 16-bit number."""
        return self._declare(name, "short", default, doc, traits)

    def double(self, name: str, default: F, doc: str, **traits: Any) -> Key[float | F]:
        """Declare a floating-point number."""
        return self._declare(name, "double", default, doc, traits)

    def string(self, name: str, default: S, doc: str, **traits: Any) -> Key[str | S]:
        """Declare a text."""
        return self._declare(name, "string", default, doc, traits)

    def names(
        self, name: str, default: tuple[str, ...], doc: str, **traits: Any
    ) -> Key[tuple[str, ...]]:
        """Declare a comma-separated list."""
        return self._declare(name, "list", default, doc, traits)

    def optional_names(self, name: str, doc: str, **traits: Any) -> Key[tuple[str, ...] | None]:
        """Declare a comma-separated list that has no default."""
        return self._declare(name, "list", None, doc, traits)

    def plugin(self, name: str, default: S, doc: str, **traits: Any) -> Key[str | S]:
        """Declare the name of a class."""
        return self._declare(name, "class", default, doc, traits)

    def password(self, name: str, doc: str, **traits: Any) -> Key[str | None]:
        """Declare a secret: never shown, no default."""
        return self._declare(name, "password", None, doc, traits)

    def _declare(
        self, name: str, type_: str, default: Any, doc: str, traits: dict[str, Any]
    ) -> Key[Any]:
        """Make the key; `traits` name its attributes, `low` and `high` stand for a range check.

        A remedy makes the key refused: it is what the person should do instead.
        """
        key: Key[Any] = Key(self.title, name, type_, default, doc)
        key.status = self.status
        key.remedy = self.remedy
        if traits:
            low = traits.pop("low", None)
            high = traits.pop("high", None)
            if low is not None or high is not None:
                key.check = in_range(low, high)
            if "remedy" in traits:
                key.status = REFUSED
            for trait, value in traits.items():
                setattr(key, trait, value)
        self.keys.append(key)
        return key
