"""A restart of all containers (KEP-5532), from the worker's reports to the status."""

from __future__ import annotations

from itertools import groupby

from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pod import PodStatus
from actors.status_manager.containers.container_status_input import Readiness
from actors.status_manager.messages import PodObserved
from actors.status_manager.status.pod_status import compute
from actors.status_manager.status.pod_status_input import PodStatusInput, PodStatusNode
from tests.support.present import present
from tests.support.shard_harness import Driven, container, pod

RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}


def history(node: Driven) -> list[PodStatus]:
    """The status after each report of the worker."""
    found: list[PodStatus] = []
    for seen in node.harness.sent(PodObserved, "status_manager"):
        ready = Readiness(started=True, ready=True)
        observation = PodStatusInput(seen, decode_pod(seen.pod), lambda *_, all=ready: all, round(node.clock() * 1e9))
        found.append(compute(observation, PodStatusNode(["192.0.2.1"]), found[-1] if found else None))
    return found


async def test_the_condition_holds_until_all_containers_ended_and_each_shows_how_it_ended(tmp_path):
    asks = container("a", restartPolicy="Never", restartPolicyRules=[RULE])
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=[asks, container("b")], initContainers=[container("i")], restartPolicy="Never"))
        await node.until(lambda: len(node.containers("i")) == 1)
        await node.end("i")
        await node.until(lambda: node.running("a") and node.running("b"))
        for name in ("a", "b", "i"):
            node.leave_log(name, 0)
        await node.end("a", 88)
        await node.relist()
        await node.until(lambda: node.attempts("i") == [1])
        await node.relist()
        conditions = [
            each.status for one in history(node) for each in one.conditions if each.type == "AllContainersRestarting"
        ]
        assert [status for status, _ in groupby(conditions)] == ["False", "True", "False"]
        await node.end("i")
        await node.until(lambda: node.running("a") and node.running("b"))
        await node.relist()
        last = history(node)[-1]
        restarted = (*last.initContainerStatuses, *last.containerStatuses)
        ends = {each.name: present(each.lastState.terminated) for each in restarted}
        assert (ends["i"].exitCode, ends["a"].exitCode) == (0, 88)
        assert [each.restartCount for each in last.containerStatuses] == [1, 1]
