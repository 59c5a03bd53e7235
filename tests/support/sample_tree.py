"""A tree whose policy is a real policy file, with real incident records and logs, as an agent has them.

root: a, b, group (supervisor): x, y, z; late, deaf and clumsy (it fails while it stops) where the file `with` beside
the run directory names them; no log file where it says `no log`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any, Literal

from supervision import logs
from supervision.actor import Actor, Address, on
from supervision.application import Application, ShownFiles
from supervision.incidents.incident_file import Incidents
from supervision.message import Message
from supervision.quarantine import Journal, report_death
from supervision.spec import ChildSpec
from supervision.supervisor.policy import load

HERE = "tests.support.sample_tree"
APPLICATION = f"{HERE}:application"


class Work(Message, frozen=True):
    """Something to do; answered with Worked."""

    text: str


class Worked(Message, frozen=True):
    text: str


class Toil(Message, frozen=True):
    """Work in a task, for the input of that key; answered at once, with whether it was begun."""

    key: str
    how: Literal["hang", "die", "do", "grow", "leak"]


class Begun(Message, frozen=True):
    begun: bool


class Leave(Message, frozen=True):
    """End with this exit code."""

    status: int


_HEAP_BYTES = 200 * 2**20


class Worker(Actor):
    """Does what it is told, and writes down when it starts and stops."""

    def __init__(self, start_seconds: float = 0.0, deaf: bool = False, clumsy: bool = False) -> None:
        super().__init__()
        self._start_seconds, self._deaf, self._clumsy, self._heap = start_seconds, deaf, clumsy, bytearray()

    async def on_start(self) -> None:
        await asyncio.sleep(self._start_seconds)
        self._journal = Journal(Path(self.context) / "quarantine" / self.name, last_end=self.last_end)
        report_death(self.tell, self._journal)
        self.note("start")
        self.log.info("working as incarnation %d", self.incarnation)

    async def on_stop(self) -> None:
        self.note("stop")
        if self._deaf:
            await asyncio.sleep(600)
        if self._clumsy:
            raise RuntimeError("no clean end")

    @on(Work)
    def on_work(self, message: Work, sender: Address) -> Worked:
        self.log.debug("work: %s", message.text)
        return Worked(message.text)

    @on(Toil)
    def on_toil(self, message: Toil, sender: Address) -> Begun:
        if self._journal.is_quarantined(message.key):
            return Begun(False)
        if message.how == "leak":
            self._heap += bytes(_HEAP_BYTES)  # for no input
        self.start_task(self._toil(message), "toil", record=self._journal.record_of(lambda: message.key))
        return Begun(True)

    async def _toil(self, message: Toil) -> None:
        await asyncio.sleep(0.01)  # no message is handled any more
        await asyncio.ensure_future(self._part(message))

    async def _part(self, message: Toil) -> None:
        if message.how == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        if message.how == "grow":
            self._heap += bytes(_HEAP_BYTES)
        self.note(f"{message.how}-{message.key}")
        while message.how in ("hang", "grow", "leak"):
            pass
        self.note(f"did-{message.key}")

    @on(Leave)
    def on_leave(self, message: Leave, sender: Address) -> None:
        raise SystemExit(message.status)

    def note(self, what: str) -> None:
        with (Path(self.context) / "notes").open("a") as file:
            file.write(f"{time.monotonic():.6f} {what} {self.name}\n")


def worker(name: str, **arguments: Any) -> ChildSpec:
    return ChildSpec(name=name, actor=f"{HERE}:Worker", arguments=arguments)


def tree(extra: str = "") -> ChildSpec:
    group = ChildSpec(name="group", children=(worker("x"), worker("y"), worker("z")))
    children = [worker("a"), worker("b"), group]
    if "late" in extra:
        children.insert(0, worker("late", start_seconds=600.0))
    if "deaf" in extra:
        children.append(worker("deaf", deaf=True))
    if "clumsy" in extra:
        children.append(worker("clumsy", clumsy=True))
    return ChildSpec(name="root", children=tuple(children))


def application(run_dir: Path) -> Application:
    """Its files are beside the run directory: policy.yaml, with, notes, incidents.jsonl, agent.log."""
    home = run_dir.parent
    extra = (home / "with").read_text() if (home / "with").exists() else ""
    spec = tree(extra)
    log_file = "" if "no log" in extra else str(home / "agent.log")
    logs.configure(verbosity=2, log_file=log_file)
    return Application(
        name="supervised",
        tree=spec,
        policies=load(home / "policy.yaml", spec),
        context=str(home),
        run_dir=run_dir,
        incidents=Incidents(home / "incidents.jsonl"),
        files=ShownFiles(log_file, str(home / "incidents.jsonl"), str(home / "policy.yaml")),
    )
