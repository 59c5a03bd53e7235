"""The first ten minutes of docs/transcript.md: `make run` in one terminal, and what is typed in another."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support.transcript import ANY, Step, as_if

SUPERVISE: Final = str(Path(sys.executable).with_name("supervise"))
SOURCES: Final = Path(__file__).parents[2]
SECONDS: Final = 90.0
TYPED: Final = (
    "status",
    "get pods",
    "describe pod hello",
    "logs hello --tail 2",
    "inject pleg crash",
    "incidents",
    "status",
    "sttus",
    "config explain maxPods",
)
FIRST_LOG_LINE: Final = "hello-demo | hello from hello-demo on demo, line 1"


def newcomer(directory: Path) -> list[Step]:
    """What is answered. The demo's own directory is made below this one, and goes at the end."""
    root, out = directory / "demo", directory / "out"
    names = {f" --root-dir={root}": "", str(root): "/var/lib/troupelet-demo", SUPERVISE: ".venv/bin/supervise"}
    with out.open("wb") as file:
        command = [SUPERVISE, "demo", f"--root-dir={root}"]
        demo = subprocess.Popen(command, cwd=SOURCES, stdout=file, stderr=file)
    try:
        _until(lambda: FIRST_LOG_LINE.replace("line 1", "line 3") in out.read_text(), demo, out)
        steps = [_typed(words, root, names, demo, out) for words in TYPED]
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(SECONDS)
    said = as_if(out.read_text(), {**names, f" --root-dir={root}": " --root-dir=/var/lib/troupelet-demo"})
    before, _, after = said.partition(f"{FIRST_LOG_LINE}\n")
    ending = after[after.index("\nstopping") :]
    shown = [*_without_workers(before.splitlines()), FIRST_LOG_LINE, ANY, *ending.splitlines()]
    return [Step("make run", (ANY, *shown)), *steps]


def _typed(words: str, root: Path, names: dict[str, str], demo: subprocess.Popen[bytes], out: Path) -> Step:
    def answer() -> str:
        asked = [] if words.startswith("config") else [f"--root-dir={root}"]
        command = [SUPERVISE, *words.split(), *asked]
        done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=SECONDS, check=False)
        return f"{done.stdout}{done.stderr}"

    text = answer()
    end = time.monotonic() + SECONDS
    # the incident is written, and the actor replaced, a moment after the fault
    while (words == "incidents" and not _is_replaced(text)) or (words == "status" and not text.startswith("ready: ")):
        assert demo.poll() is None, out.read_text()
        assert time.monotonic() < end, text
        time.sleep(0.2)
        text = answer()
    return Step(f".venv/bin/supervise {words}", tuple(as_if(text, names).splitlines()))


def _is_replaced(incidents: str) -> bool:
    return "pleg" in incidents and not incidents.rstrip().endswith(" -")


def _without_workers(lines: list[str]) -> list[str]:
    """There is one for each core: the first is shown."""
    shown = [ANY if "worker/1 " in line else line for line in lines]
    return [line for line in shown if not any(f"worker/{number} " in line for number in range(2, 8))]


def _until(right: Callable[[], bool], demo: subprocess.Popen[bytes], out: Path) -> None:
    end = time.monotonic() + SECONDS
    while not right():
        assert demo.poll() is None, out.read_text()
        assert time.monotonic() < end, out.read_text()
        time.sleep(0.1)
