"""docs/configuration.md, rendered from the declarations: `python -m config.render` prints it."""

import sys
from collections.abc import Iterable
from typing import Any

from config.catalogue import AREAS
from config.definition import MAX_INT, MAX_LONG, REFUSED, Key, to_text
from config.group_config import GROUP_WORDS
from config.keys import client_metrics, one_group, topics
from config.keys.retired import RETIRED
from config.topic_config import BROKER_WORDS

INTRODUCTION = """\
# Configuration

<!-- Rendered from the declarations in config/ by `make docs`. -->

Settings carry Kafka's names and are written as Kafka's `server.properties`. They are read from,
later ones winning:

1. the file given to `tidelog start`,
2. environment variables: `TIDELOG_` and the name in capitals, dots as underscores
   (`TIDELOG_LOG_RETENTION_MS`); a setting of our own is also known without its `tidelog.`
   (`TIDELOG_LOG_FORMAT`),
3. `--override KEY=VALUE` and the other options.

A bad value stops the start with one line that names key, value, rule and source. An unknown name
gets one warning with the nearest known one. What a setting does here:

| word | meaning |
|---|---|
| honoured | does what it says |
| kept | accepted and shown; its subject is not built yet |
| no effect | accepted and shown; what it tunes does not exist in this design |
| refused | its subject is not built, so anything but the default stops the start |

"Changes" tells who may set it while the broker runs: *per broker* for one broker, *cluster wide*
for one or for all, else nobody. An own value of a topic wins over one set for this broker, over one
set for all brokers, over the file, over the default. `listeners` and
`listener.security.protocol.map` are read at the start only, for now.

A file made for a single KRaft node is taken as it is: `process.roles`, a quorum of this node alone,
and a controller listener, which is not opened because the controller needs no port.
"""

RETIRED_INTRODUCTION = """
## Older Kafkas

Known by name and refused unless at the default they had, so that nothing a file asks for is
silently dropped; `zookeeper.*` because clusters over ZooKeeper are not built yet, the rest because
Kafka 4.0 removed them:
"""

RULE = "|---|---|---|---|---|---|---|\n"
HEAD = "| setting | type | default | valid | changes | here | meaning |\n" + RULE
TOPIC_HEAD = "| setting | type | default | valid | broker's word | here | meaning |\n" + RULE

GROUPS = """\
Set for one group, which need not exist; the broker's word holds where a group sets nothing, and
bounds what it sets.
"""
SUBSCRIPTIONS = """\
Set for one subscription of any name (`kafka-configs --entity-type client-metrics`). A client that
matches several is asked for what any of them wants, at the smallest interval. Selectors:
`client_instance_id`, `client_id`, `client_software_name`, `client_software_version`,
`client_source_address`, `client_source_port`.
"""

_NAMES = {MAX_INT: "2^31-1", MAX_LONG: "2^63-1", 1.7976931348623157e308: "no limit"}


def render() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for area in AREAS:
        parts.append(f"\n## {area.title}\n\n{HEAD}")
        parts.extend(_row(key, key.dynamic.replace("-", " ")) for key in _shown(area.keys))
        remedies = _remedies(area.keys)
        if remedies:
            parts.append("\n" + remedies)
    parts.append(
        f"\n## {topics.AREA.title}\n\nSet for one topic; the broker's word holds where a topic "
        f"sets nothing.\n\n{TOPIC_HEAD}"
    )
    for key in _shown(topics.AREA.keys):
        words = ", ".join(f"`{word}`" for word, _unit in BROKER_WORDS.get(key.name, ()))
        parts.append(_row(key, words))
    parts.append(f"\n## {one_group.AREA.title}\n\n{GROUPS}\n{TOPIC_HEAD}")
    for key in one_group.AREA.keys:
        word = GROUP_WORDS[key.name]
        parts.append(_row(key, "" if word is None else f"`{word}`"))
    parts.append(f"\n## {client_metrics.AREA.title}\n\n{SUBSCRIPTIONS}\n{HEAD}")
    parts.extend(_row(key, "while it runs") for key in client_metrics.AREA.keys)
    parts.append(RETIRED_INTRODUCTION)
    parts.append(", ".join(f"`{name}`" for name in sorted(RETIRED)) + ".\n")
    return "".join(parts)


def _shown(keys: Iterable[Key[Any]]) -> list[Key[Any]]:
    return [key for key in keys if not key.internal]


def _row(key: Key[Any], changes: str) -> str:
    valid = key.check.text if key.check is not None else ""
    cells = (
        f"`{key.name}`",
        key.type,
        _default(key),
        valid.replace("|", "\\|"),
        "" if changes == "read only" else changes,
        key.status,
        key.doc,
    )
    return f"| {' | '.join(cells)} |\n"


def _default(key: Key[Any]) -> str:
    if key.default is None:
        return "none"
    if not isinstance(key.default, bool | tuple | str) and key.default in _NAMES:
        return _NAMES[key.default]
    text = to_text(key.default)
    return f"`{text}`" if text else "empty"


def _remedies(keys: Iterable[Key[Any]]) -> str:
    """What to do about refused settings, each remedy once with the names it is for."""
    names: dict[str, list[str]] = {}
    for key in _shown(keys):
        if key.status == REFUSED and key.remedy:
            names.setdefault(key.remedy, []).append(f"`{key.name}`")
    return "".join(
        f"- Refused here: {', '.join(group) if len(group) < 6 else 'all of these'}: {remedy}.\n"
        for remedy, group in names.items()
    )


def main() -> None:
    """Print the page."""
    sys.stdout.write(render())


if __name__ == "__main__":
    main()
