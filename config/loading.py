"""From a file, the environment and flags to a checked `BrokerConfig`.

Later ones win, and each value remembers where it was written: `server.properties:12`,
`environment variable TIDELOG_LOG_DIRS`, `--override`.
"""

from collections.abc import Iterable, Iterator, Mapping

from config.broker_config import BrokerConfig
from config.catalogue import KEYS
from config.definition import ConfigError
from config.keys import network, node
from config.properties import MalformedEscape, parse_properties
from config.refusals import check_built, unknown_names
from config.relations import check_relations

ENVIRONMENT_PREFIX = "TIDELOG_"
OWN_PREFIX = "tidelog."


def load(
    path: str | None,
    environ: Mapping[str, str],
    overrides: Iterable[str] | Mapping[str, str] = (),
) -> BrokerConfig:
    """The settings of this broker, checked; its `warnings` are lines for the log.

    `overrides` are `KEY=VALUE` texts or a mapping. Raises ConfigError, whose text is one line
    naming key, value, rule and source.
    """
    static: dict[str, str] = {}
    sources: dict[str, str] = {}
    warnings: list[str] = []
    for layer in (
        _from_file(path) if path is not None else (),
        _from_environment(environ, warnings),
        _from_overrides(overrides),
    ):
        for name, value, source in layer:
            static[name] = value
            sources[name] = source
    warnings.extend(_about_unknown(static, sources))
    try:
        config = BrokerConfig(static, sources=sources)
        check_built(config)
        check_relations(config)
    except ConfigError as error:
        error.source = error.source or sources.get(error.key)
        raise
    warnings.extend(_about_dropped_listeners(config))
    config.warnings = tuple(warnings)
    return config


def _from_file(path: str) -> Iterator[tuple[str, str, str]]:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ConfigError(path, None, f"cannot read this file: {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # what Java assumes
    try:
        properties = parse_properties(text)
    except MalformedEscape as error:
        source = f"{path}:{error.line}"
        raise ConfigError(path, None, r"Malformed \uxxxx encoding.", source=source) from error
    for name, value, line in properties:
        yield name, value, f"{path}:{line}"


def _from_environment(
    environ: Mapping[str, str], warnings: list[str]
) -> Iterator[tuple[str, str, str]]:
    given = [name for name in environ if name.startswith(ENVIRONMENT_PREFIX)]
    if not given:
        return
    names = _names_by_variable()
    for variable in sorted(given):
        name = names.get(variable)
        if name is None:
            hint = _nearest(variable, names)
            warnings.append(f"Environment variable {variable} names no setting{hint}.")
        else:
            yield name, environ[variable], f"environment variable {variable}"


def _names_by_variable() -> dict[str, str]:
    """Settings by the variable that sets them; own ones also without their `tidelog.`."""
    from config.keys.retired import RETIRED  # seldom needed

    names = {}
    for name in (*RETIRED, *KEYS):
        variable = name.upper().replace(".", "_")
        names[ENVIRONMENT_PREFIX + variable] = name
        if name.startswith(OWN_PREFIX):
            names[variable] = name
    return names


def _from_overrides(
    overrides: Iterable[str] | Mapping[str, str],
) -> Iterator[tuple[str, str, str]]:
    source = "--override"
    if isinstance(overrides, Mapping):
        for name, value in overrides.items():
            yield name, value, source
        return
    for text in overrides:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(text, None, "expected KEY=VALUE", source=source)
        yield name.strip(), value.strip(), source


def _about_unknown(static: Mapping[str, str], sources: Mapping[str, str]) -> Iterator[str]:
    for name in unknown_names(static):
        hint = _nearest(name, KEYS)
        yield f"Setting {name} ({sources[name]}) is not known and has no effect{hint}."


def _about_dropped_listeners(config: BrokerConfig) -> Iterator[str]:
    names = config.controller_listener_names
    listeners = config[network.LISTENERS]
    written = {listener.partition("://")[0].strip().upper() for listener in listeners}
    dropped = sorted(names & written)
    if dropped:
        source = config.sources.get(node.CONTROLLER_LISTENER_NAMES.name)
        yield (
            f"Listener {', '.join(dropped)} ({source}) is not opened: "
            "the controller runs inside this broker and needs no port."
        )


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib  # only for a misspelling

    matches = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {matches[0]}?)" if matches else ""
