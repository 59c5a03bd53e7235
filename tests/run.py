"""All tests in phases, each as parallel as it may be: `make test`. The closing line of pytest ends each phase.

One file of tests runs in one process, as many files at once as there are cores, and more where they mostly wait.
Tests marked `alone` change or measure what the whole host has, and come last. What failed is named at the end; nothing
runs twice.
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
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from actors.shared.linux import mountinfo
from tests.support.junit_report import Counts, counts, failed
from tests.support.left_behind import KEPT_BY_PYTEST, left_behind, of_agents

ROOT = Path(__file__).parents[1]

DEADLINE_SECONDS = 2580
"""For all phases together."""
LEAVING_SECONDS = 15.0
"""For processes to end that were told to when a phase was done."""
NOTHING_COLLECTED = 5
OPTIONS = ("--durations=5", "-rs")
"""Name what is slow, and what was skipped and why."""
SIDE_BY_SIDE = ("--dist", "loadfile", "--no-loadscope-reorder")
"""Of pytest-xdist; the order stays that of tests/conftest.py, long files first."""


PROCESSES = ("tests/tree", "tests/node")


class Phase(NamedTuple):
    name: str
    markers: str
    parallel: bool
    more: int = 0
    """Processes beside one a core: for tests that mostly wait for a timer or another program."""
    folders: tuple[str, ...] = PROCESSES
    """Where its tests are; to read all the others, too, takes each process half a minute."""


PHASES = (
    Phase(
        "unit and one actor",
        "not tree and not node and not packages and not host and not alone",
        parallel=True,
        more=2,
        folders=("tests",),
    ),
    Phase("real processes", "tree and not node and not alone", parallel=True, more=2),
    Phase("real containers", "node and not alone", parallel=True, more=2),
    Phase("alone", "alone", parallel=False),
)


def run_phase(phase: Phase, report: Path, files: Path, cores: int, seconds: float, more: list[str]) -> int:
    """Pytest's exit code; 124 when the time was up. `files`: where the tests have their temporary files."""
    command = [sys.executable, "-m", "pytest", "-m", phase.markers, *OPTIONS, f"--junitxml={report}"]
    command += [f"--basetemp={files}/{KEPT_BY_PYTEST}", *more]  # short: below it are sockets, with 107 bytes at most
    command += phase.folders if options(more) == more else []
    command += [*SIDE_BY_SIDE, "-n", str(cores + phase.more)] if phase.parallel and cores > 1 else []
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
    directory = Path(tempfile.gettempdir(), f"t{os.getpid()}")
    directory.mkdir(mode=0o700)
    try:
        yield directory
    finally:
        if not mountinfo.below(mountinfo.read(), str(directory)):
            shutil.rmtree(directory, ignore_errors=True)


def left(start: float) -> float:
    """Seconds that the phases still have together."""
    return max(1.0, DEADLINE_SECONDS - (time.monotonic() - start))


def options(more: list[str]) -> list[str]:
    """Without the files that are named."""
    return [word for word in more if not os.path.exists(word.partition("::")[0])]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test", description=__doc__)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 2)
    arguments, more = parser.parse_known_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background, and tests send it
    start, wrong, bad, total = time.monotonic(), list[str](), list[str](), Counts()
    if os.geteuid() != 0:
        print("== NOT ROOT: the tests with real containers are SKIPPED; run `sudo make test` for all", flush=True)
    with tempfile.TemporaryDirectory() as reports, temporary_files() as files:
        report = Path(reports, "report.xml")
        known = of_agents()
        for phase in PHASES:
            code = run_phase(phase, report, files, arguments.cores, left(start), more)
            total = Counts(*(a + b for a, b in zip(total, counts(report), strict=True)))
            bad += failed(report, ROOT)
            report.unlink(missing_ok=True)
            wrong += [f"{phase.name} (exit code {code})"] if code else []
            for line in left_behind(files, LEAVING_SECONDS, known):
                print(f"== LEFT BEHIND by {phase.name}: {line}", flush=True)
    for line in bad:
        print(f"== failed: {line}", flush=True)
    good = total.tests - total.bad - total.skipped
    seconds = time.monotonic() - start
    print(f"== in all: {good} passed, {total.bad} failed, {total.skipped} skipped in {seconds:.0f} s", flush=True)
    if wrong:
        print(f"== FAILED: {', '.join(wrong)}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
