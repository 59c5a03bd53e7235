"""What must hold when a chaos run of an agent in a cluster has ended, and all is repaired."""

from __future__ import annotations

from pathlib import Path

from actors.container_runtime import cleanup
from actors.shared.cri.model import CriContainerState
from actors.shared.linux import mountinfo
from tests.support.api_connection import Obj
from tests.support.joined import condition, is_ready, status

from .cluster import Cluster
from .invariants import not_ready, regressed_phases, status_mismatch
from .model import LASTING, Check
from .target import of_any_agent
from .workload import ENDS, ILL, TALKER, Wanted, files

ACTOR_BYTES = 100 << 20


# -- what becomes so --------------------------------------------------------------------------------------------------
def _other_pods(cluster: Cluster) -> list[str]:
    there = {one["metadata"]["name"] for one in cluster.joined.pods.now.values()}
    return sorted(there ^ set(cluster.record.wanted))


def _untrue(cluster: Cluster) -> list[str]:
    containers = cluster.node.containers()
    wrong = []
    for name, wanted in cluster.record.wanted.items():
        mine = [one for one in containers if one.pod_uid == wanted.uid]
        running = {one.name: one.id for one in mine if one.state is CriContainerState.RUNNING}
        newest: dict[str, int] = {}
        for one in mine:
            newest[one.name] = max(newest.get(one.name, 0), one.restart_count)
        found = cluster.joined.pod(name)
        phase = status(found).get("phase")
        if phase != ENDS.get(wanted.sort, "Running"):
            wrong.append(f"{name} ({wanted.sort}) is {phase}")
        elif text := status_mismatch(found, running, newest) or _unwell(cluster, found, wanted, running):
            wrong.append(f"{name}: {text}")
    return wrong


def _unwell(cluster: Cluster, found: Obj, wanted: Wanted, running: dict[str, str]) -> str:
    """Of a pod that is to run: whether it does, and is ready unless it was made ill."""
    if wanted.sort not in LASTING:
        return ""
    if not running:
        return "it does not run"
    ask = ["test", "-e", ILL]
    result = cluster.node.ask_runtime(lambda client: client.exec_sync(running["main"], ask, 15))
    ill = wanted.sort == "calm" and result.exit_code == 0 and found["metadata"]["name"] != TALKER
    ready = condition(found, "Ready").get("status")
    return "" if ready == ("False" if ill else "True") else f"Ready is {ready}, ill {ill}"


def _old_files(cluster: Cluster) -> list[str]:
    record, wrong = cluster.record, []
    for name, wanted in record.wanted.items():
        if wanted.sort != "reads":
            continue
        for what, path in files(f"{cluster.node.home}/root", wanted.uid).items():
            said, due = Path(path).read_text(), wanted.label if what == "label" else str(record.word)
            if said != due:
                wrong.append(f"{name}: {what} is {said!r}, not {due!r}")
    return wrong


# -- what is left -----------------------------------------------------------------------------------------------


def _uids(cluster: Cluster) -> set[str]:
    return {one.uid for one in cluster.record.wanted.values()}


def _stray_sandboxes(cluster: Cluster) -> list[str]:
    found = cluster.node.ask_runtime(lambda client: client.list_pod_sandboxes())
    there = [*((one.pod_name, one.pod_uid) for one in found)]
    there += [(one.pod_name, one.pod_uid) for one in cluster.node.containers()]
    return sorted({name for name, uid in there if uid not in _uids(cluster)})


def _left(cluster: Cluster) -> list[str]:
    uids = _uids(cluster)
    left = [one for one in cluster.node.traces() if one.removeprefix("pod") not in uids]
    pods = f"{cluster.node.home}/root/pods/"
    mounts = [one.point for one in mountinfo.read() if one.point.startswith(pods)]
    left += [point for point in mounts if point.removeprefix(pods).partition("/")[0] not in uids]
    boxes = {one.id for one in cluster.node.ask_runtime(lambda client: client.list_pod_sandboxes())}
    results = Path(cleanup.RESULTS_DIR).glob(f"{cluster.node.runtime.instance.network}-*")
    left += [one.name for one in results if not any(box in one.name for box in boxes)]
    logs = cluster.node.home / "logs"
    left += [str(one) for one in logs.iterdir() if one.name.rpartition("_")[2] not in uids]
    return left


def _exec(cluster: Cluster) -> list[str]:
    process = cluster.exec(TALKER, "after all")
    said = process.communicate()[0].strip()
    return [] if (process.returncode, said) == (0, "after all") else [f"{process.returncode} {said!r}"]


# -- what was -------------------------------------------------------------------------------------------------


def _restarted_for_nothing(cluster: Cluster) -> list[str]:
    wrong = []
    containers = cluster.node.containers()
    for name, wanted in cluster.record.wanted.items():
        mine = [one for one in containers if one.pod_uid == wanted.uid]
        count = max((one.restart_count for one in mine), default=0)
        if wanted.sort != "crashes" and count > wanted.ends:
            wrong.append(f"{name} ({wanted.sort}) was restarted {count} times, and ended {wanted.ends} times")
    return wrong


def _ready(cluster: Cluster) -> list[str]:
    return [] if is_ready(cluster.joined.api.call("GET", "/api/v1/nodes/bench")) else ["it is not"]


def _once_not_ready(cluster: Cluster) -> list[str]:
    return list(not_ready(cluster.joined.nodes.events[cluster.nodes_before :]))


def _gone_back(cluster: Cluster) -> list[str]:
    return list(regressed_phases(list(cluster.joined.pods.events)))


FILES: Check[Cluster] = Check("files of pods say what the API says", _old_files)
RESTARTS: Check[Cluster] = Check("no container was restarted for nothing", _restarted_for_nothing, 0)
EXEC_WORKS: Check[Cluster] = Check("exec works", _exec)
STAYS_READY: Check[Cluster] = Check("the node was Ready all the while", _once_not_ready, 0)
NOT_BACK: Check[Cluster] = Check("no status went back", _gone_back, 0)


def of_a_cluster() -> tuple[Check[Cluster], ...]:
    return (
        *of_any_agent(ACTOR_BYTES),
        Check("the API has the wanted pods, and no other", _other_pods),
        Check("each pod is as it should be, and the API knows", _untrue),
        Check("no sandbox of other pods is left", _stray_sandboxes),
        Check("no directory, cgroup, mount or network is left", _left),
        Check("the node is Ready", _ready),
        Check("nothing that was looked at all the while was wrong", lambda cluster: cluster.watching.wrong, 0),
    )
