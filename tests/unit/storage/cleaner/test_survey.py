"""What a survey knows when it has been over all logs."""

from storage.cleaner.survey import Survey, dirt_of
from tests.support.cleaning import COMPACTED, CleaningHarness
from tests.support.fault_disk import FaultDisk
from tests.support.log_harness import TOPIC_ID


def test_a_survey_ends_with_the_logs_that_are_due_the_filthiest_last() -> None:
    harness = CleaningHarness(FaultDisk())
    config = COMPACTED._replace(min_cleanable_dirty_ratio=0.5)
    logs = []
    for number, clean in enumerate((4, 9, 0)):
        partition = harness.log.topic_partition._replace(partition=number + 1)
        harness.log = harness.manager.get_or_create(partition, TOPIC_ID, config, harness.now_ms)
        logs.append(harness.log)
        for _ in range(clean):
            harness.put([(b"key", b"v" * 20)])
            harness.roll()
        harness.log.first_dirty_offset = clean
        for _ in range(6):
            harness.put([(b"key", b"v" * 20)])
            harness.roll()
    survey = Survey(list(logs), harness.now_ms)
    taken = survey.take(2)
    assert taken == logs[1:]
    for log in [*taken, *survey.take(2)]:
        survey.add(log)
    assert survey.rest == []
    assert survey.due_last_first() == [logs[0], logs[2]]
    assert survey.dirtiest_ratio == dirt_of(logs[2], harness.now_ms).ratio == 1.0
