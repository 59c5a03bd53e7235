"""All tests in phases, each as parallel as it may be: `make test`. The closing line of pytest ends each phase.

One file of tests runs in one process, as many files at once as there are cores: no file shares a port, a cgroup, a
runtime or a directory with another. Tests marked `alone` change or measure what the whole host has; they come last, one
after the other.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from actors.shared.linux import mountinfo
from tests.support.left_behind import left_behind

DEADLINE_SECONDS = 2400
"""For all phases together."""
LEAVING_SECONDS = 15.0
"""For processes to end that were told to when a phase was done."""
NOTHING_COLLECTED = 5
OPTIONS = ("--durations=5", "-rs")
"""Name what is slow, and what was skipped and why."""
SIDE_BY_SIDE = ("--dist", "loadfile", "--no-loadscope-reorder")
"""Of pytest-xdist; the order stays that of tests/conftest.py, long files first."""


class Phase(NamedTuple):
    name: str
    markers: str
    parallel: bool
    folders: tuple[str, ...] = ("tests/tree", "tests/node")
    """Where its tests are; to read all the others, too, takes each process half a minute."""


PHASES = (
    Phase("unit and one actor", "not tree and not node and not alone", parallel=True, folders=("tests",)),
    Phase("real processes", "tree and not node and not alone", parallel=True),
    Phase("real containers", "node and not alone", parallel=False),
    Phase("alone", "alone", parallel=False),
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


def run_phase(phase: Phase, report: Path, files: Path, cores: int, seconds: float, more: list[str]) -> int:
    """Pytest's exit code; 124 when the time was up. `files`: where the tests have their temporary files."""
    command = [sys.executable, "-m", "pytest", "-m", phase.markers, *OPTIONS, f"--junitxml={report}", *more]
    command += (
        ["-n", str(cores), "--dist", "loadfile", "--no-loadscope-reorder"] if phase.parallel and cores > 1 else []
    )
    print(f"== {phase.name}", flush=True)
    process = subprocess.Popen(command, start_new_session=True, env={**os.environ, "TMPDIR": str(files)})
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


@contextlib.contextmanager
def temporary_files() -> Iterator[Path]:
    """A directory for all that the tests put into TMPDIR. It goes, but stays where something is mounted in it."""
    directory = Path(tempfile.gettempdir(), f"t{os.getpid()}")  # short: below it are sockets, with 107 bytes at most
    directory.mkdir(mode=0o700)
    try:
        yield directory
    finally:
        if not mountinfo.below(mountinfo.read(), str(directory)):
            shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test", description=__doc__)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 2)
    arguments, more = parser.parse_known_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background, and tests send it
    start, failed, total = time.monotonic(), [], Counts()
    if os.geteuid() != 0:
        print("== NOT ROOT: the tests with real containers are SKIPPED; run `sudo make test` for all", flush=True)
    with tempfile.TemporaryDirectory() as reports, temporary_files() as files:
        report = Path(reports, "report.xml")
        for phase in PHASES:
            left = max(1.0, DEADLINE_SECONDS - (time.monotonic() - start))
            code = run_phase(phase, report, files, arguments.cores, left, more)
            total = Counts(*(a + b for a, b in zip(total, counts(report), strict=True)))
            report.unlink(missing_ok=True)
            failed += [f"{phase.name} (exit code {code})"] if code else []
            for line in left_behind(files, LEAVING_SECONDS):
                print(f"== LEFT BEHIND by {phase.name}: {line}", flush=True)
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
