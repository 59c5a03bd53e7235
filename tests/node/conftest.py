"""Tests with real containers: each needs root and a containerd (`real_runtime`), and says so when it did not run."""

from __future__ import annotations

import pytest

from tests.support.runtime import real_runtime, session_runtime

__all__ = ["real_runtime", "session_runtime"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and "NOT TESTED" in report.longrepr[2]
    }
    for reason in sorted(reasons):
        terminalreporter.write_line(reason, red=True, bold=True)
