"""What is declared is what dashboards ask for."""

from broker.metrics.declarations import DECLARED, QUANTILE_LABELS, QUANTILES


def test_names_that_published_dashboards_query_are_declared() -> None:
    shown = {declared.shown_name for declared in DECLARED.values()}
    assert {
        "kafka_server_brokertopicmetrics_messagesin_total",
        "kafka_server_brokertopicmetrics_messagesinpersec",
        "kafka_server_brokertopicmetrics_bytesin_total",
        "kafka_server_brokertopicmetrics_totalproducerequests_total",
        "kafka_server_replicamanager_partitioncount",
        "kafka_server_replicamanager_leadercount",
        "kafka_server_replicamanager_underreplicatedpartitions",
        "kafka_log_log_size",
        "kafka_log_log_logstartoffset",
        "kafka_log_log_logendoffset",
        "kafka_log_log_numlogsegments",
        "kafka_network_requestmetrics_totaltimems",
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "kafka_topic_partition_current_offset",
        "kafka_brokers",
    } <= shown


def test_only_names_of_kafkas_dialects_can_be_left_out() -> None:
    for declared in DECLARED.values():
        assert declared.name.startswith("kafka_") == bool(declared.dialects)
        assert declared.name.startswith(("kafka_", "tidelog_"))


def test_quantile_labels_are_the_numbers_they_stand_for() -> None:
    assert [float(label) for label in QUANTILE_LABELS] == list(QUANTILES)
