"""What must hold when a chaos run of a joined agent has ended, and all is repaired."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from actors.container_runtime import cleanup
from actors.shared.cri.model import ContainerState
from actors.shared.linux import mountinfo
from tests.support.api_connection import Obj
from tests.support.joined import condition, is_ready, status

from .joined_plan import LASTING
from .joined_run import JoinedChaos
from .told import badly_reported, gone_back, not_ready, untrue
from .wanted import ENDS, ILL, TALKER, Wanted, files

SETTLE_SECONDS = 90.0
STAGE_FDS, STAGE_GROWTH, ACTOR_BYTES = 400, 24 << 20, 100 << 20


class Judging:
    def __init__(self, chaos: JoinedChaos) -> None:
        self._chaos, self._joined, self._node = chaos, chaos.joined, chaos.node
        self._wrong: list[str] = []

    def judge(self) -> list[str]:
        """What does not hold; nothing when all does."""
        course = self._chaos.course
        self._settle()
        for one in self._node.incidents():
            course.incidents[one.actor, one.pid, one.time] = one
        incidents = sorted(course.incidents.values(), key=lambda one: one.time)
        self._wrong += [*self._chaos.watching.wrong, *course.unlike]
        self._wrong += [
            *not_ready(self._joined.nodes.told[self._chaos.nodes_before :]),
            *gone_back(list(self._joined.pods.told)),
        ]
        self._wrong += badly_reported(course.injected, incidents, course.killed)
        self._restarted_for_nothing()
        self._bounded()
        watching = self._chaos.watching
        figures: dict[str, object] = {
            "incidents": len(incidents), "oldest_lease": watching.oldest_lease, "lines": watching.lines,
            "follows": watching.follows, "fork_server_fds": course.fork_server_fds,
            "fork_server_bytes": course.fork_server_bytes[-1:],
        }  # fmt: skip
        self._chaos.note("end", {"wrong": self._wrong, **figures})
        return self._wrong

    # -- what becomes so --------------------------------------------------------------------------------------------
    def _settle(self) -> None:
        wanted = self._chaos.course.wanted
        self._hold("every actor is in service", lambda: [] if self._node.tree().state == "ready" else ["not"])
        self._hold("the API has the wanted pods, and no other", lambda: sorted(self._at_the_api() ^ set(wanted)))
        self._hold("each pod is as it should be, and the API knows", self._untrue)
        self._hold("files of pods say what the API says", self._old_files)
        self._hold("no sandbox of other pods is left", self._stray_sandboxes)
        self._hold("no directory, cgroup, mount or network is left", self._left)
        self._hold("no process is left", self._node.strays)
        self._hold("the node is Ready", lambda: [] if is_ready(self._joined.api.call("GET", "/api/v1/nodes/bench"))
                   else ["not"])  # fmt: skip
        self._hold("exec works", self._exec)

    def _hold(self, what: str, differs: Callable[[], list[str]]) -> None:
        end, found = time.monotonic() + SETTLE_SECONDS, ["never looked"]
        while found and time.monotonic() < end:
            try:
                found = differs()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at again until the deadline
                found = [repr(error)]
            time.sleep(0.2 if found else 0.0)
        if found:
            self._wrong.append(f"not within {SETTLE_SECONDS:g} s: {what}: {found}")

    def _at_the_api(self) -> set[str]:
        return {one["metadata"]["name"] for one in self._joined.pods.now.values()}

    def _untrue(self) -> list[str]:
        containers = self._node.containers()
        wrong = []
        for name, wanted in self._chaos.course.wanted.items():
            mine = [one for one in containers if one.pod_uid == wanted.uid]
            running = {one.name: one.id for one in mine if one.state is ContainerState.RUNNING}
            newest: dict[str, int] = {}
            for one in mine:
                newest[one.name] = max(newest.get(one.name, 0), one.restart_count)
            found = self._joined.pod(name)
            phase = status(found).get("phase")
            if phase != ENDS.get(wanted.sort, "Running"):
                wrong.append(f"{name} ({wanted.sort}) is {phase}")
            elif text := untrue(found, running, newest) or self._unwell(found, wanted, running):
                wrong.append(f"{name}: {text}")
        return wrong

    def _unwell(self, found: Obj, wanted: Wanted, running: dict[str, str]) -> str:
        """Of a pod that is to run: whether it does, and is ready unless it was made ill."""
        if wanted.sort not in LASTING:
            return ""
        if not running:
            return "it does not run"
        ask = ["test", "-e", ILL]
        result = self._node.ask_runtime(lambda client: client.exec_sync(running["main"], ask, 15))
        ill = wanted.sort == "calm" and result.exit_code == 0 and found["metadata"]["name"] != TALKER
        ready = condition(found, "Ready").get("status")
        return "" if ready == ("False" if ill else "True") else f"Ready is {ready}, ill {ill}"

    def _old_files(self) -> list[str]:
        course, wrong = self._chaos.course, []
        for name, wanted in course.wanted.items():
            if wanted.sort != "reads":
                continue
            for what, path in files(f"{self._node.home}/root", wanted.uid).items():
                said, due = Path(path).read_text(), wanted.label if what == "label" else str(course.word)
                if said != due:
                    wrong.append(f"{name}: {what} is {said!r}, not {due!r}")
        return wrong

    # -- what is left -----------------------------------------------------------------------------------------------
    def _uids(self) -> set[str]:
        return {one.uid for one in self._chaos.course.wanted.values()}

    def _stray_sandboxes(self) -> list[str]:
        found = self._node.ask_runtime(lambda client: client.list_pod_sandboxes())
        there = [*((one.pod_name, one.pod_uid) for one in found)]
        there += [(one.pod_name, one.pod_uid) for one in self._node.containers()]
        return sorted({name for name, uid in there if uid not in self._uids()})

    def _left(self) -> list[str]:
        uids = self._uids()
        left = [one for one in self._node.traces() if one.removeprefix("pod") not in uids]
        pods = f"{self._node.home}/root/pods/"
        mounts = [one.point for one in mountinfo.read() if one.point.startswith(pods)]
        left += [point for point in mounts if point.removeprefix(pods).partition("/")[0] not in uids]
        boxes = {one.id for one in self._node.ask_runtime(lambda client: client.list_pod_sandboxes())}
        results = Path(cleanup.RESULTS_DIR).glob(f"{self._node.runtime.instance.network}-*")
        left += [one.name for one in results if not any(box in one.name for box in boxes)]
        logs = self._node.home / "logs"
        left += [str(one) for one in logs.iterdir() if one.name.rpartition("_")[2] not in uids]
        return left

    def _exec(self) -> list[str]:
        process = self._chaos.exec(TALKER, "after all")
        said = process.communicate()[0].strip()
        return [] if (process.returncode, said) == (0, "after all") else [f"{process.returncode} {said!r}"]

    # -- what was -------------------------------------------------------------------------------------------------
    def _restarted_for_nothing(self) -> None:
        containers = self._node.containers()
        for name, wanted in self._chaos.course.wanted.items():
            mine = [one for one in containers if one.pod_uid == wanted.uid]
            count = max((one.restart_count for one in mine), default=0)
            if wanted.sort != "crashes" and count > wanted.ends:
                self._wrong.append(f"{name} ({wanted.sort}) was restarted {count} times, and ended {wanted.ends} times")

    def _bounded(self) -> None:
        course = self._chaos.course
        if course.fork_server_fds > STAGE_FDS:
            self._wrong.append(f"the fork server had {course.fork_server_fds} open files")
        if course.fork_server_bytes and max(course.fork_server_bytes) - course.fork_server_bytes[0] > STAGE_GROWTH:
            self._wrong.append(
                f"the fork server grew from {course.fork_server_bytes[0]} to {max(course.fork_server_bytes)} bytes"
            )
        heavy = [one.name for one in self._node.tree().actors if one.memory_bytes > ACTOR_BYTES]
        if heavy:
            self._wrong.append(f"over {ACTOR_BYTES} bytes: {heavy}")
