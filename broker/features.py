"""The features of the cluster: what it could do, and what it agreed to do.

With the embedded store one broker is the cluster, so it agrees to all it can do: producers speak
transactions v2 (KIP-890), groups the protocol of KIP-848 where they ask for it. Clients take up
finalized features only with an epoch that is not negative. Source: KIP-584, Feature.java (4.3).
"""

from typing import Final

from broker.handlers.api_versions import FeatureRange, Features

TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"

FEATURES: Final = Features(
    {TRANSACTION_VERSION: FeatureRange(0, 2), GROUP_VERSION: FeatureRange(0, 1)},
    {TRANSACTION_VERSION: 2, GROUP_VERSION: 1},
    0,
)
