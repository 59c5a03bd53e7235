"""Each actor that has a part in it is killed at each moment of a resize in place, between its grant and its end.

Moments are held by stopping whoever would go on: container manager or runtime. Afterwards both containers run on with
what was asked for, both state files say so, and an event of the resize is told once if nobody died who was to tell it:
a victim takes along what it was about to tell, and what it told may go unsent with the agent.
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
STOPPED_SECONDS = 600
"""The heartbeat: longer than a moment is held, so that the supervisor does not replace who is stopped for it."""
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
        """The cpu requests of the containers in a state file; none before there is one."""
        path = Path(self.site.node.home, "root", file)
        pods = decode(path.read_bytes()) if path.exists() else {}
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

    def resized(self, before: list[int]) -> bool:
        """Both containers have other weights than before."""
        return all(now != old for now, old in zip(self.shares(), before, strict=True))

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

    def wait_begun(self, cpu: int) -> None:
        """Until the server has the event of the start: nobody can take it along any more."""
        within(SECONDS, lambda: "ResizeStarted" in self.told(cpu), "event of the start")

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


def asked(held: Resized, cpu: int) -> bool:
    """Nothing is allocated."""
    held.stop_manager()
    held.ask(cpu)
    return False


def allocated(held: Resized, cpu: int) -> bool:
    """The state file has it, and the runtime has done nothing."""
    held.stop_runtime()
    held.ask(cpu)
    held.wait_begun(cpu)
    assert held.kept(ALLOCATED) == [f"{cpu}m"] * 2
    return False


def half_done(held: Resized, cpu: int) -> bool:
    """The runtime has the new size of one container at least."""
    before = held.shares()
    held.ask(cpu)
    ends = time.monotonic() + SECONDS
    while held.shares() == before:
        assert time.monotonic() < ends, "no container is resized"
    held.stop_runtime()
    # what the shim was asked for goes on, but its answer reaches nobody: who finds one to do has not been told the end
    whole = held.resized(before)
    held.wait_begun(cpu)
    return whole


def actuated(held: Resized, cpu: int) -> bool:
    """The runtime has it all, and no state file says so."""
    before = held.shares()
    held.stop_runtime()
    held.ask(cpu)
    held.wait_begun(cpu)
    held.stop_manager()
    held.start_runtime()
    within(SECONDS, lambda: held.resized(before), "both resized")
    return True


MOMENTS: Final[dict[str, Callable[[Resized, int], bool]]] = {
    "asked": asked, "allocated": allocated, "half done": half_done, "actuated": actuated,
}  # fmt: skip
"""Each brings it about, and answers whether the end of the resize may have been told or kept by then."""
ENDS: Final[dict[str, set[int]]] = {"container_manager": {1}, "worker": {0, 1, 2}, "agent": {0, 1, 2}}
"""How often the end of a resize may be told, by who is killed when it is over: the next worker tells again what is not
kept yet, and what its forerunner or the agent had not sent is lost."""


@pytest.fixture(scope="module")
def held(session_runtime: RealRuntime) -> Iterator[Resized]:
    two = [container(name, resources=amounts("50m", "32Mi")) for name in CONTAINERS]
    with joined(session_runtime, "resized", heartbeat_seconds=STOPPED_SECONDS) as site:
        site.create(pod(NAME, *two))
        site.wait_pods_ready(NAME)
        found = Resized(site, session_runtime)
        try:
            yield found
        finally:
            found.go_on()


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_at_any_moment_of_a_resize_carries_it_out_once(held: Resized, moment: str, victim: str) -> None:
    before, weights, cpu = held.containers(), held.shares(), next(CPU)
    whole = MOMENTS[moment](held, cpu)
    held.kill(victim)
    site: Any = held.site
    site.pods.until(lambda: held.done(cpu), "resized", SECONDS)
    within(SECONDS, lambda: held.kept(ALLOCATED) == held.kept(ACTUATED) == [f"{cpu}m"] * 2, "the same in both files")
    assert held.containers() == before
    shares = held.shares()
    assert len(set(shares)) == 1, shares
    assert shares > weights
    # the container manager may grant what it was asked for by a worker that is killed: the next one knows no start
    begun = {0, 1} if (moment, victim) == ("asked", "worker") else {1}
    ends = ENDS[victim] if whole else {1}
    within(SECONDS, lambda: held.told(cpu).get("ResizeStarted", 0) in begun, "event of the start")
    within(SECONDS, lambda: held.told(cpu).get("ResizeCompleted", 0) in ends, "event of the end")
    assert set(held.told(cpu)) <= {"ResizeStarted", "ResizeCompleted"}
