"""What is looked at all the while of a chaos run of a joined agent: the lease, deletions, a log that is followed."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from actors.shared.api.errors import ApiError
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainerState
from tests.support.api_connection import SeenEvent
from tests.support.joined import NODE, Joined

from .workload import TALKER

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}"
POLL_SECONDS = 0.5


class Watching:
    """`wrong`: what did not hold. `hasty`: UIDs of pods that are taken off the API at once, before they have ended."""

    def __init__(self, joined: Joined) -> None:
        self._joined, self._stop = joined, threading.Event()
        self.wrong: list[str] = []
        self.hasty: set[str] = set()
        self.away = False
        self.oldest_lease = 0.0
        self.lines, self.follows = 0, 0
        self._seen = len(joined.pods.events)
        self._follower: subprocess.Popen[str] | None = None

    @contextmanager
    def going_on(self) -> Iterator[Watching]:
        threads = [threading.Thread(target=self._again, args=(do,), daemon=True) for do in self._looks()]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            if self._follower is not None:
                self._follower.kill()
            for thread in threads:
                thread.join(40)

    def _looks(self) -> list[Callable[[], None]]:
        return [self._look_at_the_lease, self._look_at_deletions, self._follow_a_log]

    def _again(self, look: Callable[[], None]) -> None:
        while not self._stop.wait(POLL_SECONDS):
            try:
                look()
            except Exception as error:  # noqa: BLE001 - a look that is no good must be seen at the end
                self.wrong.append(f"{look.__name__}: {error!r}")
                return

    # -- the lease --------------------------------------------------------------------------------------------------
    def _look_at_the_lease(self) -> None:
        if self.away:
            return
        with suppress(ApiError, TimeoutError):
            spec = self._joined.api.call("GET", LEASE)["spec"]
            age = time.time() - datetime.fromisoformat(spec["renewTime"]).timestamp()
            self.oldest_lease = max(self.oldest_lease, age)
            if age > spec["leaseDurationSeconds"]:
                self.wrong.append(f"the lease was {age:.1f} s old")

    # -- pods that are no more at the API ---------------------------------------------------------------------------
    def _look_at_deletions(self) -> None:
        told = self._joined.pods.events
        while self._seen < len(told):
            one = told[self._seen]
            if one.kind == "DELETED" and one.obj["metadata"]["uid"] not in self.hasty:
                try:
                    self._look_at(one)
                except CriError:  # the runtime is being started again: once more, later
                    return
            self._seen += 1

    def _look_at(self, one: SeenEvent) -> None:
        node, uid = self._joined.node, str(one.obj["metadata"]["uid"])
        mine = [each for each in node.containers() if each.pod_uid == uid and each.state is CriContainerState.RUNNING]
        if mine:
            self.wrong.append(f"{one.name} is not at the API any more, and runs: {mine}")
        if f"pod{uid}" in node.traces():
            self.wrong.append(f"{one.name} is not at the API any more, and has a cgroup: {uid}")

    # -- a log ------------------------------------------------------------------------------------------------------
    def _follow_a_log(self) -> None:
        """Until it ends, as it does with the server, its node server or the runtime; then once more."""
        if self.away:
            return
        kubeconfig = f"--kubeconfig={self._joined.cluster.admin}"
        command = ["kubectl", kubeconfig, "logs", "-f", "--tail=1", TALKER]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            self._follower, last = process, -1
            self.follows += 1
            if self._stop.is_set():
                process.kill()
            for line in process.stdout or ():
                word, _, number = line.strip().partition(" ")
                if word != "line" or not number.isdigit() or not line.endswith("\n"):
                    continue
                if last >= 0 and int(number) != last + 1:
                    self.wrong.append(f"the log that is followed said {last} and then {number}")
                last, self.lines = int(number), self.lines + 1
