"""The image's own small answer."""

from cluster.kafka_metadata.image import TOPICS, ClusterImage


def test_a_topic_without_settings_has_none() -> None:
    image = ClusterImage("a test")
    image.configs[TOPICS]["a"] = {"retention.ms": "1"}
    assert image.topic_configs("a") == {"retention.ms": "1"}
    assert image.topic_configs("b") == {}
