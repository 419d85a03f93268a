"""What clients push, as metric families: the name a client has for a metric is a label.

No client chooses the name of a family that way, and what two clients call alike and mean otherwise
does no harm. A page made while a push is taken in shows some of it.
"""

from collections.abc import Iterator

from broker.metrics import declarations as names
from broker.metrics.families import Piece, Sample, sliced
from broker.telemetry.clients import ClientTelemetry


def client_pieces(telemetry: ClientTelemetry) -> Iterator[Piece]:
    """The books, who pushes, and everything that is pushed."""
    series, meters = telemetry.series, telemetry.meters
    for family, value in (
        (names.CLIENT_INSTANCES, len(telemetry)),
        (names.CLIENT_UNKNOWN_SUBSCRIPTIONS, meters.unknown_subscriptions),
        (names.CLIENT_THROTTLED, meters.throttled),
        (names.CLIENT_EXPORTED, meters.exported),
        (names.CLIENT_FAILED, meters.failed),
        (names.CLIENT_DROPPED, series.dropped),
    ):
        yield Piece(family, [Sample("", {}, value)])
    for infos in sliced(series.infos()):
        yield Piece(names.CLIENT_INFO, [Sample("", labels, 1) for labels in infos])
    for family, counters in ((names.CLIENT_GAUGE, False), (names.CLIENT_COUNTER, True)):
        for some in sliced(series.shown(counters=counters)):
            yield Piece(family, [Sample("", one.labels, one.value) for one in some])
