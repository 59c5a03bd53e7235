"""A shard on a fake runtime: resizes of the resources of the pod as a whole."""

from __future__ import annotations

from actors.container_manager.messages import (
    ActuatedResources,
    PodAdmitted,
    ResizePod,
)
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.pod_records import POD_LEVEL
from tests.actors.pod_workers.test_resizing import UPDATE, again
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, container, pod


async def test_a_resize_of_the_pods_limits_reaches_containers_that_have_none_of_their_own(tmp_path):
    def limited(memory: str) -> Pod:
        own = {"limits": {"cpu": "100m", "memory": "32Mi"}}
        return pod(
            containers=[container("a", resources=own), container("b")],
            resources={"limits": {"cpu": "500m", "memory": memory}},
        )

    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(limited("64Mi"))
        await node.until(lambda: node.running("a") and node.running("b"))
        await node.settled()
        await node.want(limited("96Mi"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        assert dict(node.events())["ResizeStarted"].startswith('Pod resize started: {"containers":[{"name":"a",')
        await node.settled()
        changed = [(one.container_id, one.linux.memory_limit_in_bytes) for one in node.fake.requests_for(UPDATE)]
        assert changed == [(node.containers("b")[0].id, 96 << 20)]
        await node.pass_time(300)
        assert node.count_of(UPDATE) == 1


async def test_a_limit_of_the_pod_restarts_the_containers_without_their_own_whose_policy_says_so(tmp_path):
    def limited(cpu: str, memory: str) -> Pod:
        policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
        own = container("a", resources={"limits": {"memory": "32Mi"}}, resizePolicy=policy)
        without = [container("b", resizePolicy=policy), container("c")]
        return pod(containers=[own, *without], resources={"limits": {"cpu": cpu, "memory": memory}})

    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(limited("500m", "64Mi"))
        await node.until(lambda: node.running("a") and node.running("b") and node.running("c"))
        await node.settled()
        await node.want(limited("500m", "96Mi"))
        await node.until(lambda: len(node.containers("b")) == 2 and node.running("b"))
        assert ("Killing", "Container b resize requires restart") in node.events()
        await node.settled()
        await node.pass_time(300)
        assert (len(node.attempts("a")), len(node.attempts("b")), len(node.attempts("c"))) == (1, 2, 1)
        limits = [one.config.linux.resources.memory_limit_in_bytes for one in node.containers("b")]
        assert sorted(limits) == [64 << 20, 96 << 20]
        updated = {one.container_id for one in node.fake.requests_for(UPDATE)}
        assert updated == {node.containers("a")[0].id, node.containers("c")[0].id}
        await node.want(limited("750m", "96Mi"))
        await node.until(lambda: {one.container_id for one in node.fake.requests_for(UPDATE)} > updated)
        await node.settled()
        assert (len(node.attempts("a")), len(node.attempts("b")), len(node.attempts("c"))) == (1, 2, 1)


async def test_a_pods_limit_below_what_a_container_without_its_own_uses_changes_nothing(tmp_path):
    def limited(memory: str) -> Pod:
        return pod(containers=[container("a"), container("b")], resources={"limits": {"memory": memory}})

    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(limited("64Mi"))
        await node.until(lambda: node.running("a") and node.running("b"))
        await node.settled()
        await node.want(limited("1Ki"))
        await node.until(lambda: any(reason == "ResizeError" for reason, _ in node.events()))
        told = next(text for reason, text in node.events() if reason == "ResizeError")
        assert 'attempting to set container \\"b\\" memory limit (1024) below current usage' in told
        assert node.count_of(UPDATE) == 0
        has = ResourceRequirements(limits={"memory": "64Mi"})
        assert node.observed().actual_resources == {POD_LEVEL: has}
        assert node.harness.sent(ActuatedResources)[-1].pod == has
        await node.want(limited("128Mi"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        await node.settled()
        assert node.observed().actual_resources == {}


async def test_limits_of_the_pod_that_were_not_given_to_its_containers_are_after_a_restart(tmp_path):
    def limited(memory: str) -> Pod:
        return pod(containers=[container("a")], resources={"limits": {"cpu": "500m", "memory": memory}})

    async with Driven(tmp_path) as first:
        first.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await first.want(limited("64Mi"))
        await first.until(lambda: first.running("a"))
        await first.settled()
        first.fake.faults.add(UPDATE, Fault(hang=True))
        await first.want(limited("96Mi"))
        await first.until(lambda: first.count_of(UPDATE) == 1)
    first.fake.faults.clear()
    async with again(tmp_path, first, limited("96Mi")) as node:
        await node.until(lambda: node.containers("a")[0].resources.memory_limit_in_bytes == 96 << 20)
