"""Levels of features as the controller reads and changes them.

One write a change, under the controller's epoch. The first writes the levels that held until then
before those that hold from now on, so that the epoch clients compare by grows with it:

    /feature   absent: the first levels, epoch 0 | data version n: what it says, epoch n
"""

from collections.abc import Mapping, Sequence

from cluster import znodes
from cluster.controller.term import Term
from cluster.features import FIRST_LEVELS, SUPPORTED, Features, FeatureUpdate, updated_levels
from cluster.store.port import Create, Operation, Set, Znode


def features_of(node: Znode | None) -> Features:
    """The features of a cluster whose `/feature` is this."""
    if node is None:
        return Features(SUPPORTED, FIRST_LEVELS, 0)
    return Features(SUPPORTED, znodes.decode_features(node.data), node.version)


async def finalize(
    term: Term, features: Features, updates: Sequence[FeatureUpdate], *, validate_only: bool
) -> Features:
    """The features after the updates, stored; KafkaError with all of them as they were."""
    levels = updated_levels(term.broker_id, features.finalized, updates)
    if validate_only or levels == features.finalized:
        return features
    outcomes = await term.write(await _operations(term, features.finalized, levels))
    version = outcomes[-1]
    assert isinstance(version, int)
    return features._replace(finalized=levels, epoch=version)


async def _operations(
    term: Term, before: Mapping[str, int], after: Mapping[str, int]
) -> list[Operation]:
    node = await term.store.get(znodes.FEATURE)
    change = Set(znodes.FEATURE, znodes.encode_features(after))
    if node is not None:
        return [change]
    return [Create(znodes.FEATURE, znodes.encode_features(before)), change]
