"""Carries a plan out on a real agent and judges what is left of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from actors.shared.config.agent import Agent
from actors.tree import tree
from supervision.errors import AskError
from supervision.spec import walk
from tests.support.faulty_node import FaultyNode, HealthWatch
from tests.support.runtime import RealRuntime

from .plan import SEEN, Step

ACTORS = [name for name, _, _ in walk(tree(Agent()))]
SETTLE_SECONDS = 60.0
HEALTH_SECONDS = 8.0
"""The health server may be hung itself, be found, and be replaced."""


class Chaos:
    """One run. `history` has every step and what was seen, as JSON lines."""

    def __init__(self, runtime: RealRuntime, history: Path, say: Callable[[str], None]) -> None:
        self.node = FaultyNode(runtime)
        self._history, self._say = history, say
        self._wanted: set[str] = set()
        self._expected = 0
        self._fork_server_kills = 0

    def run(self, steps: Iterable[Step]) -> list[str]:
        """What does not hold at the end; nothing when all does."""
        self.node.start()
        self.node.wait_whole()
        began = time.monotonic()
        with HealthWatch(self.node).watching() as health:
            for step in steps:
                time.sleep(max(0.0, began + step.at - time.monotonic()))
                self._do(step)
            wrong = self._judge()
        if not self._fork_server_kills and health.longest > HEALTH_SECONDS:
            wrong.append(f"/healthz did not answer for {health.longest:.1f} s")
        self._note("end", {"wrong": wrong, "healthz_gap": health.longest, "incidents": len(self.node.incidents())})
        return wrong

    def remove(self) -> None:
        for manifest in self.node.manifests.glob("*.yaml"):
            manifest.unlink()
        self.node.remove()

    # -- steps ------------------------------------------------------------------------------------------------------
    def _do(self, step: Step) -> None:
        self._say(f"{step.at:6.1f} s  {step.kind} {step.name} {step.fault or ''}")
        error = ""
        try:
            self._carry_out(step)
        except (AskError, AssertionError, KeyError) as failure:
            error = str(failure)  # it is just being replaced: the fault missed it
        doubles = self.node.doubles() if step.kind != "runtime" else []
        self._note("step", {**msgspec.structs.asdict(step), "error": error, "doubles": doubles})
        if doubles:
            raise AssertionError(f"two running containers of one name: {doubles}")

    def _carry_out(self, step: Step) -> None:
        if step.kind == "add":
            self._wanted.add(step.name)
            self.node.add(step.name)
        elif step.kind == "edit":
            self.node.add(step.name)  # a new UID: another pod of the same name
        elif step.kind == "remove":
            self._wanted.discard(step.name)
            self.node.withdraw(step.name)
        elif step.kind == "runtime":
            self.node.runtime.restart()
        elif step.kind == "fork_server":
            self._fork_server_kills += 1
            self.node.kill_fork_server()
            self.node.start()
        elif step.fault is not None:
            seconds = 5.0 if step.fault in ("slow", "drop", "leak") else 0.0
            self.node.inject(step.name, step.fault, seconds=seconds)
            self._expected += step.fault in SEEN

    # -- the end ----------------------------------------------------------------------------------------------------
    def _judge(self) -> list[str]:
        wrong: list[str] = []
        self._hold(wrong, "every actor is in service", lambda: self.node.tree().state == "ready")
        self._hold(wrong, "the wanted pods run, and no other", lambda: set(self.node.running()) == self._wanted)
        steady = self.node.running()
        self._hold(wrong, "no trace of other pods is left", lambda: len(self.node.traces()) <= 2 * len(self._wanted))
        if self.node.running() != steady:
            wrong.append("containers changed though nothing was done any more")
        if doubles := self.node.doubles():
            wrong.append(f"running twice: {doubles}")
        incidents = self.node.incidents()
        if len(incidents) > self._expected + len(ACTORS):
            wrong.append(f"{len(incidents)} incidents for {self._expected} faults")
        names = {incident.actor for incident in incidents} - set(ACTORS)
        if names:
            wrong.append(f"incidents of unknown actors: {names}")
        tree_now = self.node.tree()
        heavy = [actor.name for actor in tree_now.actors if actor.memory_bytes > 64 << 20]
        if heavy:
            wrong.append(f"over 64 MiB: {heavy}")
        return wrong

    def _hold(self, wrong: list[str], what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at again until the deadline
                self._note("look", {"error": str(error)[:200]})
            time.sleep(0.2)
        there = f"running {sorted(self.node.running())}, traces {sorted(self.node.traces())}"
        wrong.append(f"not within {SETTLE_SECONDS:g} s: {what}; wanted {sorted(self._wanted)}, {there}")

    def _note(self, what: str, data: dict[str, object]) -> None:
        with self._history.open("ab") as file:
            file.write(msgspec.json.encode({"at": time.time(), "what": what, **data}) + b"\n")
