"""How soon a pod that takes the memory of the others is ended: from the threshold to the end of its container.

All pods together may have 600 MiB, of which 300 are to be left free, and one takes 200 MiB in a second. The time begins
when what the agent measures has crossed the threshold, and ends when the runtime says that the container has ended.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any, Final

from actors.shared.cri.model import CriContainerState
from actors.shared.linux import cgroup_tree
from actors.shared.linux.memory import total_memory
from actors.shared.stats.cgroup_usage import memory_limit, working_set
from tests.support.joined import Joined, condition, container, joined, pod
from tests.support.runtime import RealRuntime

from .node import NotInTime
from .report import Figure, median_of

MIB: Final = 1 << 20
PODS_MIB, FREE_MIB, STEP_MIB = 600, 300, 20
WAIT_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.005
EATER: Final = "eater"
EATS: Final = (
    f"trap 'exit 143' TERM; sleep 2; i=0; while [ $i -lt {PODS_MIB // STEP_MIB - 5} ]; do"
    f" dd if=/dev/zero of=/memory/$i bs=1M count={STEP_MIB} 2>/dev/null; i=$((i+1)); sleep 0.1; done;"
    " while :; do sleep 0.2; done"
)
WAYS: Final = (("polling", "by polling", False), ("notified", "by notification (cgroups v1)", True))


def figures(runtime: RealRuntime, rounds: int) -> list[Figure]:
    """Medians in seconds. Raises NotInTime, AssertionError."""
    found = []
    for key, how, notifies in WAYS:
        if notifies and cgroup_tree.find("").version == 2:
            continue  # there the kernel tells of stalls, which is no setting
        fields: dict[str, Any] = {
            "kubeReserved": {"memory": str(total_memory() - PODS_MIB * MIB)},
            "evictionHard": {"memory.available": f"{FREE_MIB}Mi"},
            "evictionPressureTransitionPeriod": "12s",  # longer than from one status of the node to the next
            "kernelMemcgNotification": notifies,
        }
        with joined(runtime, f"evicts-{key}", **fields) as site:
            seconds = [_eviction(site, f"{EATER}-{number}") for number in range(rounds)]
        found.append(median_of(f"eviction.{key}", f"threshold crossed to pod ended, {how}", seconds, "s"))
    return found


def _eviction(site: Joined, name: str) -> float:
    """Seconds. Nothing is left of the pod afterwards."""
    tree, pods = cgroup_tree.find(""), site.node.cgroup
    mounts = [{"name": "memory", "mountPath": "/memory"}]
    volumes = [{"name": "memory", "emptyDir": {"medium": "Memory"}}]
    _until(lambda: (working_set(tree, pods) or 0) < MIB * FREE_MIB // 2, "the memory is free")
    before = len(_pressure(site))
    site.create(pod(name, container(EATER, "sh", "-c", EATS, volumeMounts=mounts), volumes=volumes))
    site.wait_pods_ready(name)
    most = (memory_limit(tree, pods) or 0) - FREE_MIB * MIB
    crossed = _until(lambda: (working_set(tree, pods) or 0) > most, "the threshold is crossed")
    ended = _until(lambda: not _runs(site, name), "the container has ended")
    site.wait_phase(name, "Failed", WAIT_SECONDS)
    # under pressure the node takes no other such pod
    site.nodes.until(lambda: _pressure(site)[before:] == ["True", "False"], "MemoryPressure and its end", WAIT_SECONDS)
    site.delete(name)
    site.wait_no_pod(name)
    return ended - crossed


def _pressure(site: Joined) -> list[str]:
    """Each change of the node's condition that was seen."""
    seen = [str(condition(one.obj, "MemoryPressure").get("status")) for one in list(site.nodes.events)]
    return [state for state, _ in itertools.groupby(seen)]


def _runs(site: Joined, name: str) -> bool:
    return any(one.state is CriContainerState.RUNNING and one.pod_name == name for one in site.node.containers())


def _until(condition: Callable[[], bool], what: str) -> float:
    """When it came about, by the clock of performance. Raises NotInTime."""
    ends = time.perf_counter() + WAIT_SECONDS
    while not condition():
        if time.perf_counter() > ends:
            raise NotInTime(what)
        time.sleep(POLL_SECONDS)
    return time.perf_counter()
