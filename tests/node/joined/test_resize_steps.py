"""Each actor that has a part in it is killed at each moment of a resize in place, between its grant and its end.

Moments are held by stopping whoever would go on: container manager or runtime. Afterwards both containers run on with
what was asked for, both state files say so, and each event of the resize is told once, by a teller that lives.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from actors.shared.pod_records import ACTUATED, ALLOCATED, decode
from tests.node.joined.test_conformance_resize import amounts
from tests.node.joined.test_pod_features import within
from tests.support.joined import PODS, STRATEGIC, Joined, condition, container, joined, pod, status
from tests.support.runtime import RealRuntime

SECONDS = 90.0
NAME, CONTAINERS = "sized", ("first", "second")
CPU: Final = itertools.count(61)
"""Another request in milli-cores for each resize."""
VICTIMS: Final = ("container_manager", "worker", "agent")


class Resized:
    """A node with one pod of two containers, whose resizes are held at a moment."""

    def __init__(self, site: Joined, runtime: RealRuntime) -> None:
        assert runtime.process is not None
        self.site, self._runtime = site, runtime.process.pid
        self._stopped: list[int] = []

    # -- what is so -----------------------------------------------------------------------------------------------
    def containers(self) -> list[tuple[str, str, int]]:
        """Name, id and restart count of each."""
        found = status(self.site.pod(NAME)).get("containerStatuses") or []
        return [(one["name"], one["containerID"], one["restartCount"]) for one in found]

    def kept(self, file: str) -> list[str]:
        """The cpu requests of the containers in a state file."""
        pods = decode(Path(self.site.node.home, "root", file).read_bytes())
        record = pods.get(self.site.pod(NAME)["metadata"]["uid"])
        return [str(record.containers[name].requests.get("cpu")) for name in CONTAINERS] if record is not None else []

    def shares(self) -> list[int]:
        """The CPU weights of the containers' cgroups, whichever version it is."""
        ids = [one[1].rpartition("/")[2] for one in self.containers()]
        found = {}
        for top, _, files in os.walk("/sys/fs/cgroup"):
            for file in {"cpu.shares", "cpu.weight"} & set(files):
                found.update({one: int(Path(top, file).read_text()) for one in ids if one in Path(top).name})
        return [found[one] for one in ids if one in found]

    def done(self, cpu: int) -> bool:
        """The status says that the resize has ended."""
        now = self.site.pod(NAME)
        left = any(condition(now, kind) for kind in ("PodResizePending", "PodResizeInProgress"))
        seen = status(now).get("observedGeneration") == now["metadata"]["generation"]
        has = [one.get("resources", {}).get("requests", {}).get("cpu") for one in status(now)["containerStatuses"]]
        return not left and seen and has == [f"{cpu}m"] * len(CONTAINERS)

    def told(self, cpu: int) -> dict[str, int]:
        """How often each event of this resize was told."""
        found: dict[str, int] = {}
        for one in json.loads(self.site.kubectl("get", "events", "-o", "json"))["items"]:
            if one["involvedObject"]["name"] == NAME and f'"{cpu}m"' in one["message"]:
                found[one["reason"]] = found.get(one["reason"], 0) + int(one.get("count") or 1)
        return found

    # -- what is done ---------------------------------------------------------------------------------------------
    def ask(self, cpu: int) -> None:
        wanted = [{"name": name, "resources": amounts(f"{cpu}m", "32Mi")} for name in CONTAINERS]
        self.site.api.call("PATCH", f"{PODS}/{NAME}/resize", {"spec": {"containers": wanted}}, STRATEGIC)

    def stop_manager(self) -> None:
        self._stop(self.site.node.actors()["container_manager"].pid)

    def stop_runtime(self) -> None:
        self._stop(self._runtime)

    def start_runtime(self) -> None:
        os.kill(self._runtime, signal.SIGCONT)
        self._stopped.remove(self._runtime)

    def _stop(self, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        self._stopped.append(pid)

    def go_on(self) -> None:
        while self._stopped:
            with suppress(ProcessLookupError):
                os.kill(self._stopped.pop(), signal.SIGCONT)

    def kill(self, victim: str) -> None:
        """And let everything go on."""
        node = self.site.node
        if victim == "agent":
            node.kill_fork_server()
            self.go_on()
            node.start()
        elif victim == "worker":
            node.kill_workers()
        else:
            with suppress(ProcessLookupError):
                os.kill(node.actors()[victim].pid, signal.SIGKILL)
        self.go_on()


def asked(held: Resized, cpu: int) -> None:
    """Nothing is allocated."""
    held.stop_manager()
    held.ask(cpu)


def allocated(held: Resized, cpu: int) -> None:
    """The state file has it, and the runtime has done nothing."""
    held.stop_runtime()
    held.ask(cpu)
    within(SECONDS, lambda: held.kept(ALLOCATED) == [f"{cpu}m"] * 2, "the allocation is kept")


def half_done(held: Resized, cpu: int) -> None:
    """The runtime has the new size of one container at least."""
    before = held.shares()
    held.ask(cpu)
    ends = time.monotonic() + SECONDS
    while held.shares() == before:
        assert time.monotonic() < ends, "no container is resized"
    held.stop_runtime()


def actuated(held: Resized, cpu: int) -> None:
    """The runtime has it all, and no state file says so."""
    before = held.shares()
    held.stop_runtime()
    held.ask(cpu)
    within(SECONDS, lambda: held.kept(ALLOCATED) == [f"{cpu}m"] * 2, "the allocation is kept")
    held.stop_manager()
    held.start_runtime()
    within(SECONDS, lambda: all(now != old for now, old in zip(held.shares(), before, strict=True)), "both resized")


MOMENTS: Final[dict[str, Callable[[Resized, int], None]]] = {
    "asked": asked, "allocated": allocated, "half done": half_done, "actuated": actuated,
}  # fmt: skip


@pytest.fixture(scope="module")
def held(session_runtime: RealRuntime) -> Iterator[Resized]:
    two = [container(name, resources=amounts("50m", "32Mi")) for name in CONTAINERS]
    with joined(session_runtime, "resized") as site:
        site.create(pod(NAME, *two))
        site.wait_pods_ready(NAME)
        found = Resized(site, session_runtime)
        try:
            yield found
        finally:
            found.go_on()


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_whoever_is_killed_at_whichever_moment_the_resize_is_carried_out_once(
    held: Resized, moment: str, victim: str
) -> None:
    before, weights, cpu = held.containers(), held.shares(), next(CPU)
    MOMENTS[moment](held, cpu)
    held.kill(victim)
    site: Any = held.site
    site.pods.until(lambda: held.done(cpu), "resized", SECONDS)
    within(SECONDS, lambda: held.kept(ALLOCATED) == held.kept(ACTUATED) == [f"{cpu}m"] * 2, "the same in both files")
    assert held.containers() == before
    shares = held.shares()
    assert len(set(shares)) == 1, shares
    assert shares > weights
    # who is killed after what it has done, and before it has told or kept it, is followed by one who tells it again, or
    # does not know of it: the container manager may still grant what it was asked for by a worker that is killed
    begun = {0, 1} if (moment, victim) == ("asked", "worker") else {1}
    ends = {1, 2} if (moment, victim) == ("actuated", "agent") else {1}
    within(SECONDS, lambda: "ResizeCompleted" in held.told(cpu), "event of the end")
    within(SECONDS, lambda: held.told(cpu).get("ResizeStarted", 0) in begun, "event of the start")
    told = held.told(cpu)
    assert set(told) <= {"ResizeStarted", "ResizeCompleted"}
    assert told.get("ResizeStarted", 0) in begun
    assert told["ResizeCompleted"] in ends
