"""The eviction manager is killed, twice, at each step of an eviction of a real pod.

Steps are held by stopping who would go on. Afterwards the pod that was to be evicted is, once, and the one beside it,
which uses memory as well, goes on.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from actors.eviction_manager.pod_evictions import FILE, SavedState
from actors.shared.config.paths import run_dir_of
from actors.shared.cri.model import CriContainerState
from actors.shared.linux.memory import total_memory
from supervision.state_file import StateFile
from tests.node.joined.test_eviction import evicted
from tests.node.joined.test_pod_features import within
from tests.support.joined import Joined, container, joined, pod, status
from tests.support.runtime import RealRuntime

MIB = 1 << 20
SECONDS = 90.0
STOPPED_SECONDS = 600
"""The heartbeat: longer than a step is held, so that the supervisor does not replace who is stopped for it."""
VICTIM, OTHER = "victim", "other"
KILLS = 2
ENDS = "trap 'sleep 6; exit 143' TERM; while :; do sleep 0.2; done"
"""The victim takes longer to end than two restarts of the eviction manager."""
_NUMBERS: Final = itertools.count()


class Evicting:
    """A node with two pods; the victim begins to take what the node lacks when it is told."""

    def __init__(self, site: Joined) -> None:
        self.site, self.node = site, site.node
        self._file = StateFile(Path(run_dir_of(f"{self.node.home}/root"), FILE), SavedState, sync=False)

    # -- what is so ------------------------------------------------------------------------------------------------
    def chosen(self) -> list[str]:
        """Names of the pods whose eviction is recorded."""
        saved = self._file.load()
        return [one.name for one in saved.ending] if saved is not None else []

    def runs(self, name: str) -> bool:
        found = self.node.containers()
        return any(one.pod_name == name and one.state is CriContainerState.RUNNING for one in found)

    def told(self, name: str) -> int:
        """How often the event of its eviction was told."""
        found = json.loads(self.site.kubectl("get", "events", "-o", "json"))["items"]
        mine = [one for one in found if (one["involvedObject"]["name"], one["reason"]) == (name, "Evicted")]
        return sum(int(one.get("count") or 1) for one in mine)

    def attempts(self) -> int:
        """How often it was seen that the node runs short."""
        return self.node.log.read_text(errors="replace").count(" is below its threshold")

    # -- what is done ----------------------------------------------------------------------------------------------
    def begin(self) -> None:
        uid = self.site.pod(VICTIM)["metadata"]["uid"]
        Path(self.node.home, "root/pods", uid, "volumes/kubernetes.io~empty-dir/cache/go").touch()

    def stop(self, wanted: str) -> None:
        self.node.signal_actors(lambda name: name.startswith(wanted), signal.SIGSTOP)

    def go_on(self, wanted: str) -> None:
        self.node.signal_actors(lambda name: name.startswith(wanted), signal.SIGCONT)

    def kill(self) -> None:
        """Until the next incarnation has started."""
        before = self.node.actors()["eviction_manager"]
        os.kill(before.pid, signal.SIGKILL)
        within(SECONDS, lambda: self._is_later(before.incarnation), "the next incarnation")

    def _is_later(self, than: int) -> bool:
        client = self.node.client()
        try:
            return self.node.in_service(client, "eviction_manager", than)
        finally:
            client.close()


Hold = Callable[[Evicting], Callable[[], None]]
"""Lets the victim begin, waits until the step is reached, and answers what lets it go on."""


def pods_unknown(evicting: Evicting) -> Callable[[], None]:
    """The threshold is crossed; the manager asks which pods there are."""
    evicting.stop("status_manager")
    evicting.begin()
    within(SECONDS, lambda: evicting.attempts() > 0, "the threshold is crossed")
    return lambda: evicting.go_on("status_manager")


def ordered(evicting: Evicting) -> Callable[[], None]:
    """The pod is chosen, and its worker has not heard of it."""
    evicting.stop("pod_workers/worker/")
    evicting.begin()
    within(SECONDS, lambda: evicting.told(VICTIM) > 0, "the event")
    return lambda: evicting.go_on("pod_workers/worker/")


def ending(evicting: Evicting) -> Callable[[], None]:
    """The containers have been told to end, and take their time."""
    evicting.begin()
    within(SECONDS, lambda: evicting.told(VICTIM) > 0, "the event")
    return lambda: None


def ended(evicting: Evicting) -> Callable[[], None]:
    """The containers have ended, and nobody has been told so."""
    evicting.begin()
    within(SECONDS, lambda: evicting.chosen() != [], "a pod is chosen")
    evicting.stop("status_manager")
    within(SECONDS, lambda: not evicting.runs(VICTIM), "the containers have ended")
    return lambda: evicting.go_on("status_manager")


def untold(evicting: Evicting) -> Callable[[], None]:
    """No event has been sent."""
    evicting.stop("api_clients/event_client")
    evicting.begin()
    within(SECONDS, lambda: evicting.chosen() != [], "a pod is chosen")
    return lambda: evicting.go_on("api_clients/event_client")


def eater(name: str, command: str, ends: str, *, first: str = "true", **more: Any) -> dict[str, Any]:
    """`first` and `ends`: what it does until it is told to begin, and afterwards. `more`: of the volume."""
    mounts = [{"name": "cache", "mountPath": "/cache"}]
    wait = "while [ ! -e /cache/go ]; do sleep 0.1; done"
    main = container("main", "sh", "-c", f"{first}; {wait}; {command}; {ends}", volumeMounts=mounts)
    return pod(name, main, volumes=[{"name": "cache", "emptyDir": more}], terminationGracePeriodSeconds=30)


@pytest.fixture
def short(real_runtime: RealRuntime) -> Iterator[Evicting]:
    """All pods together may have 600 MiB, of which 300 are to be left free; a pod has 30 s to end."""
    fields = {
        "kubeReserved": {"memory": str(total_memory() - 600 * MIB)},
        "evictionHard": {"memory.available": "20Mi"},
        "evictionSoft": {"allocatableMemory.available": "300Mi"},
        "evictionSoftGracePeriod": {"allocatableMemory.available": "1ms"},
        "evictionMaxPodGracePeriod": 30,
    }
    with joined(real_runtime, f"steps-{next(_NUMBERS)}", heartbeat_seconds=STOPPED_SECONDS, **fields) as site:
        keep = "dd if=/dev/zero of=/cache/kept bs=1M count=60 2>/dev/null; while :; do sleep 0.2; done"
        mounts = [{"name": "cache", "mountPath": "/cache"}]
        memory = {"medium": "Memory"}
        volumes = [{"name": "cache", "emptyDir": memory}]
        site.create(pod(OTHER, container("main", "sh", "-c", keep, volumeMounts=mounts), volumes=volumes))
        take = "dd if=/dev/zero of=/cache/x bs=1M count=280 2>/dev/null"
        site.create(eater(VICTIM, take, ENDS, **memory))
        site.wait_pods_ready(OTHER, VICTIM)
        yield Evicting(site)


def check(evicting: Evicting) -> None:
    """One pod was evicted, once, with its event, and the other goes on."""
    evicted(evicting.site, VICTIM)
    within(SECONDS, lambda: evicting.chosen() == [], "the eviction is finished")
    within(SECONDS, lambda: evicting.told(VICTIM) > 0, "the event")
    assert evicting.told(VICTIM) == 1
    assert evicting.told(OTHER) == 0
    assert status(evicting.site.pod(OTHER))["phase"] == "Running"
    assert evicting.runs(OTHER)
    assert not evicting.runs(VICTIM)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [pods_unknown, ordered, ending, ended, untold], ids=lambda hold: hold.__name__)
def test_a_pod_is_evicted_once_whenever_the_eviction_manager_is_killed(short: Evicting, hold: Hold) -> None:
    release = hold(short)
    try:
        for _ in range(KILLS):
            short.kill()
    finally:
        release()
    check(short)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [pods_unknown, ordered, ending, ended, untold], ids=lambda hold: hold.__name__)
def test_a_pod_is_evicted_once_though_the_eviction_manager_hangs_while_the_others_go_on(
    short: Evicting, hold: Hold
) -> None:
    release = hold(short)
    try:
        short.stop("eviction_manager")
    finally:
        release()
    if hold is not pods_unknown:
        within(SECONDS, lambda: not short.runs(VICTIM), "the containers have ended")
    short.kill()  # as its supervisor does
    check(short)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [ordered, ending, ended], ids=lambda hold: hold.__name__)
def test_a_pod_is_evicted_once_though_the_agent_is_killed(short: Evicting, hold: Hold) -> None:
    hold(short)
    short.node.kill_fork_server_and_start()
    check(short)
