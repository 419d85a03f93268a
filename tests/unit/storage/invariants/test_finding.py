"""Findings: where and how bad; no file drowns the others."""

from storage.invariants.finding import MOST_PER_FILE, Finding, Findings, Promise, Severity


def test_a_finding_says_where() -> None:
    assert str(Finding("/data/x", "wrong")) == "/data/x: wrong"


def test_of_one_file_only_so_many_are_kept_and_the_rest_counted() -> None:
    findings = Findings()
    for number in range(MOST_PER_FILE + 7):
        findings.add(Finding("/a", f"wrong {number}"))
    findings.add(Finding("/a", "to know", Severity.INFO))
    findings.add(Finding("/b", "wrong"))
    result = findings.result()
    assert len(result) == MOST_PER_FILE + 3
    assert result[-1] == Finding("/a", "7 more findings")


def test_what_lies_beyond_the_recovery_point_is_promised_by_a_clean_shutdown_only() -> None:
    assert Promise(recovery_point=5).holds_at(4)
    assert not Promise(recovery_point=5).holds_at(5)
    assert Promise(clean=True).holds_at(5)
    assert Promise().of_content(0) == Severity.INFO
    assert Promise(strict=True).of_content(0) == Severity.ERROR
