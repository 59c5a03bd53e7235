"""The look for what code leaves behind: it sees each kind, or the tests that ask for none would say nothing."""

from __future__ import annotations

import pytest

from tests.support.traces import left_by


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("file = open('/dev/null')", " of /dev/null"),
        ("import threading, time; threading.Thread(target=time.sleep, args=(1,), name='left').start()", "thread left"),
        ("import subprocess; child = subprocess.Popen(['sleep', '1'])", "child "),
        ("import sys; sys.setprofile(lambda *seen: None)", "profiler "),
    ],
)
def test_remains_are_found(code: str, kind: str) -> None:
    (found,) = left_by(code)
    assert kind in found


def test_earlier_remains_are_not_counted() -> None:
    assert left_by("pass", after="file = open('/dev/null')") == []


def test_code_that_fails_is_no_answer() -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        left_by("1 / 0")
