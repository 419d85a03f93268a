"""Settings that change while the broker runs, and the logs that obey them.

A topic's own value wins over this broker's dynamic one, that over the cluster's dynamic default,
and that over the file. The store's changes come in through `changed`, in the order they were
committed; every log affected obeys from its next operation on.
"""

import logging
from collections.abc import Mapping
from typing import Final

from cluster.metadata_cache import MetadataCache
from config.broker_config import BrokerConfig
from config.topic_config import BROKER_WORDS, LogConfig, log_config
from storage.log_manager import LogManager

_log = logging.getLogger(__name__)

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
CLUSTER_DEFAULT: Final = "<default>"
OF_LOGS: Final = frozenset(word for words in BROKER_WORDS.values() for word, _ in words)
"""Broker settings that say how logs are kept whose topics do not say it themselves."""


class LiveSettings:
    """Keeps configuration and logs in step with the store."""

    def __init__(
        self, config: BrokerConfig, logs: LogManager, metadata: MetadataCache, node_id: int
    ) -> None:
        self._config = config
        self._logs = logs
        self._metadata = metadata
        self.node_id = node_id
        self._own_name = str(node_id)
        self._dynamic: dict[str, Mapping[str, str]] = {}
        config.on_change(self._broker_changed)

    def of_topic(self, topic: str) -> LogConfig:
        """How the logs of a topic are kept now."""
        return log_config(self._config, self._metadata.topic_overrides(topic))

    def changed(self, entity_type: str, name: str, values: Mapping[str, str]) -> None:
        """The store holds these values for (entity type, name) from now on."""
        if entity_type == TOPICS:
            self._logs.update_topic_config(name, log_config(self._config, values))
        elif entity_type == BROKERS and name in (CLUSTER_DEFAULT, self._own_name):
            self._dynamic[name] = values
            errors = self._config.set_dynamic(
                self._dynamic.get(self._own_name, {}), self._dynamic.get(CLUSTER_DEFAULT, {})
            )
            for error in errors:
                _log.error("A stored setting is left out: %s", error)

    def _broker_changed(self, names: frozenset[str]) -> None:
        if not names.isdisjoint(OF_LOGS):
            self._all_logs_obey()

    def _all_logs_obey(self) -> None:
        """Ten thousand logs take some 20 ms; the logs of a topic that sets the key itself, none."""
        configs: dict[str, LogConfig] = {}
        for log in self._logs.all_logs():
            topic = log.topic_partition[0]
            if topic not in configs:
                configs[topic] = self.of_topic(topic)
            if log.config != configs[topic]:
                log.update_config(configs[topic])
