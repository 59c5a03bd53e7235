"""All tests in phases, each as parallel as it may be: `make test`. The closing line of pytest ends each phase.

Tests without processes share the cores. Those that measure real processes, and those with real containers, would fail
each other's deadlines that way, so they come after, and alone.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

DEADLINE_SECONDS = 2400
"""For all phases together."""
NOTHING_COLLECTED = 5
OPTIONS = ("--durations=5", "-rs")
"""Name what is slow, and what was skipped and why."""


class Phase(NamedTuple):
    name: str
    markers: str
    parallel: bool


PHASES = (
    Phase("unit and one actor", "not tree and not node", parallel=True),
    Phase("real processes", "tree and not node", parallel=False),
    Phase("real containers", "node", parallel=False),
)


class Counts(NamedTuple):
    tests: int = 0
    bad: int = 0
    skipped: int = 0


def counts(report: Path) -> Counts:
    """What a JUnit report says; nothing when it was not written."""
    try:
        suites = ET.parse(report).getroot().iter("testsuite")
    except (OSError, ET.ParseError):
        return Counts()
    found = Counts()
    for suite in suites:
        tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        found = Counts(found.tests + tests, found.bad + bad, found.skipped + skipped)
    return found


def run_phase(phase: Phase, report: Path, cores: int, seconds: float, more: list[str]) -> int:
    """Pytest's exit code; 124 when the time was up."""
    command = [sys.executable, "-m", "pytest", "-m", phase.markers, *OPTIONS, f"--junitxml={report}", *more]
    command += ["-n", str(cores), "--dist", "loadfile"] if phase.parallel and cores > 1 else []
    print(f"== {phase.name}", flush=True)
    process = subprocess.Popen(command, start_new_session=True)
    try:
        code = process.wait(seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
        os.killpg(process.pid, signal.SIGINT)  # so that fixtures still clean up
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        if isinstance(error, KeyboardInterrupt):
            raise
        print(f"== {phase.name}: not done after {seconds:.0f} s", flush=True)
        return 124
    return 0 if code == NOTHING_COLLECTED else code


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test", description=__doc__)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 2)
    arguments, more = parser.parse_known_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background, and tests send it
    start, failed, total = time.monotonic(), [], Counts()
    if os.geteuid() != 0:
        print("== NOT ROOT: the tests with real containers are SKIPPED; run `sudo make test` for all", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for phase in PHASES:
            report = Path(directory, "report.xml")
            left = max(1.0, DEADLINE_SECONDS - (time.monotonic() - start))
            code = run_phase(phase, report, arguments.cores, left, more)
            total = Counts(*(a + b for a, b in zip(total, counts(report), strict=True)))
            report.unlink(missing_ok=True)
            failed += [f"{phase.name} (exit code {code})"] if code else []
    good = total.tests - total.bad - total.skipped
    seconds = time.monotonic() - start
    print(f"== in all: {good} passed, {total.bad} failed, {total.skipped} skipped in {seconds:.0f} s", flush=True)
    if failed:
        print(f"== FAILED: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
