"""What tests/run.py reads of pytest's reports."""

from pathlib import Path

from tests.support.junit_report import Counts, counts, failed

ROOT = Path(__file__).parents[3]
MODULE = "tests.unit.support.test_junit_report"
REPORT = f"""<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite errors="3" failures="1" skipped="1" tests="6">
<testcase classname="{MODULE}" name="test_good" />
<testcase classname="{MODULE}" name="test_bad[a b-]"><failure message="m">x</failure></testcase>
<testcase classname="{MODULE}.TestOf" name="test_up"><error message="m">x</error></testcase>
<testcase classname="{MODULE}" name="test_bad[a b-]"><error message="m">x</error></testcase>
<testcase classname="{MODULE}" name="test_skipped"><skipped message="m">x</skipped></testcase>
<testcase classname="" name="tests.unit.nowhere"><error message="collection failure">x</error></testcase>
</testsuite></testsuites>
"""


def test_tests_and_what_failed_of_them_are_read(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    file = "tests/unit/support/test_junit_report.py"
    assert counts(report) == Counts(tests=6, bad=4, skipped=1)
    assert failed(report, ROOT) == [f"{file}::test_bad[a b-]", f"{file}::TestOf::test_up", "tests.unit.nowhere"]


def test_a_report_that_was_not_written_has_nothing(tmp_path: Path) -> None:
    assert counts(tmp_path / "report.xml") == Counts()
    assert failed(tmp_path / "report.xml", ROOT) == []
    tmp_path.joinpath("half.xml").write_text(REPORT[:200])
    assert counts(tmp_path / "half.xml") == Counts()
