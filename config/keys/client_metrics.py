"""What one subscription to the metrics of clients says (KIP-714)."""

from config.checks import members
from config.definition import Area

AREA = Area("Subscriptions to metrics of clients")

METRICS = AREA.names(
    "metrics",
    (),
    "Prefixes of the names of the metrics that are wanted; `*` for all.",
    check=members(),
)
INTERVAL_MS = AREA.integer(
    "interval.ms", 300000, "How often clients push them, from 100 to 3600000."
)
MATCH = AREA.names(
    "match",
    (),
    "Which clients push them: `selector=pattern`, all of which must match.",
    check=members(),
)
