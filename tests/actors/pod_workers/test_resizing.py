"""A shard on a fake runtime: resizes in place, as the container manager and the runtime let them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.container_manager.messages import (
    CONTAINER_MANAGER,
    ActuatedResources,
    CountRunningPod,
    PodAdmitted,
    PodRejected,
    ResizePod,
)
from actors.pod_workers.messages import ResizeMayFit
from actors.pod_workers.pod.resizes import DEFERRED_SECONDS
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.names import CONTAINER_RESOURCES
from actors.shared.kube.pod import Pod
from actors.shared.pod_records import ACTUATED, ALLOCATED, PodRecord, encode, read
from supervision.process_messages import Hello
from tests.support.fake_cri import Fault
from tests.support.present import present
from tests.support.shard_harness import Driven, container, pod

UPDATE, SANDBOX = "UpdateContainerResources", "UpdatePodSandboxResources"


def sized(cpu: str, *, memory: str = "64Mi", metadata: dict[str, Any] | None = None, **more: Any) -> Pod:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    return pod(containers=[container("a", resources=resources, **more), container("b")], metadata=metadata or {})


async def up(node: Driven, answer: Any) -> None:
    node.answer(ResizePod, answer)
    await node.want(sized("100m"))
    await node.until(lambda: node.running("a") and node.running("b"))
    await node.settled()
    assert node.observed().resize is None


async def test_only_the_container_that_was_resized_is_changed_and_no_container_restarted(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        await node.want(sized("200m"))
        await node.until(lambda: node.count_of(UPDATE) == 1)
        await node.settled()
        observed = node.observed()
        assert (observed.resize, observed.actual_resources) == (None, {})
        assert b"200m" in observed.pod
        assert (node.attempts("a"), node.attempts("b")) == ([0], [0])
        await node.pass_time(300)
        assert node.count_of(UPDATE) == 1


async def test_no_limit_is_set_if_one_of_them_is_below_what_its_container_uses(tmp_path):
    def limited(memory: str) -> Pod:
        limits = {"limits": {"memory": memory}}
        return pod(containers=[container("a", resources=limits), container("b", resources=limits)])

    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(limited("64Mi"))
        await node.until(lambda: node.running("a") and node.running("b"))
        await node.want(limited("1Ki"))
        await node.until(lambda: any(reason == "ResizeError" for reason, _ in node.events()))
        told = next(text for reason, text in node.events() if reason == "ResizeError")
        both = [f'attempting to set container \\"{name}\\" memory limit (1024) below current usage' for name in "ab"]
        assert f"cannot decrease memory limits: [{both[0]}" in told
        assert both[1] in told
        assert node.count_of(UPDATE) == 0


async def test_a_failed_resize_is_retried_after_ten_seconds(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        node.fake.faults.add(UPDATE, Fault(error="UNKNOWN", times=99))
        await node.want(sized("200m"))
        await node.until(lambda: node.count_of(UPDATE) == 1)
        await node.end("b", 1)
        for _ in range(8):
            await node.pass_time(1)
        assert node.count_of(UPDATE) == 1
        await node.pass_time(3)
        await node.until(lambda: node.count_of(UPDATE) == 2)


async def test_a_container_that_ends_before_it_is_resized_does_not_fail_the_resize(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        node.fake.finish(node.containers("a")[-1].id, 0)  # no relist has seen it
        await node.want(sized("200m"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        assert node.count_of(UPDATE) == 1
        assert "ResizeError" not in dict(node.events())
        await node.relist()
        await node.until(lambda: node.running("a"))
        assert node.containers("a")[-1].config.linux.resources.cpu_shares == 204


async def test_another_request_is_tried_at_once_after_one_that_failed(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        node.fake.faults.add(UPDATE, Fault(error="UNKNOWN"))
        await node.want(sized("200m"))
        await node.until(lambda: node.count_of(UPDATE) == 1)
        await node.want(sized("150m"))
        await node.until(lambda: node.count_of(UPDATE) == 2)


async def test_the_end_of_a_resize_is_reported_before_it_is_kept(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda asked: PodAdmitted(asked.uid, ""))
        before = len(node.harness.outbox)
        await node.want(sized("200m"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        await node.settled()
        sent = [message for _, message in node.harness.outbox[before:]]
        told = next(at for at, one in enumerate(sent) if getattr(one, "reason", "") == "ResizeCompleted")
        kept = next(at for at, one in enumerate(sent) if isinstance(one, ActuatedResources))
        assert told < kept


@pytest.mark.parametrize(
    "fault",
    [
        None,
        Fault(error="UNIMPLEMENTED", times=9),
        Fault(error="UNKNOWN", details="not implemented yet", times=9),  # containerd 2.2
    ],
)
async def test_the_new_size_of_the_sandbox_is_sent_also_to_a_runtime_that_may_not_implement_it(tmp_path, fault):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        if fault is not None:
            node.fake.faults.add("UpdatePodSandboxResources", fault)
        await node.want(sized("200m"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        (asked,) = node.fake.requests_for("UpdatePodSandboxResources")
        assert asked.resources.cpu_shares == 204
        assert asked.pod_sandbox_id == node.fake.requests_for("CreateContainer")[0].pod_sandbox_id


@pytest.mark.parametrize(
    ("memory", "order"), [("96Mi", [SANDBOX, UPDATE]), ("32Mi", [UPDATE, SANDBOX]), (None, [SANDBOX, UPDATE, SANDBOX])]
)
async def test_the_runtime_is_told_the_size_of_a_sandbox_before_its_containers_grow_or_after_they_shrink(
    tmp_path, memory, order
):
    """`memory`: from 64Mi, beside the same cpu; None: half of it, and twice the cpu."""

    def size(cpu: str, memory: str) -> Pod:
        amounts = {"cpu": cpu, "memory": memory}
        return pod(containers=[container("a", resources={"requests": amounts, "limits": amounts})])

    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(size("100m", "64Mi"))
        await node.until(lambda: node.running("a"))
        await node.want(size("100m", memory) if memory is not None else size("200m", "32Mi"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        assert [method for method, _ in node.fake.calls if method in (SANDBOX, UPDATE)] == order
        told = [one.resources for one in node.fake.requests_for(SANDBOX)]
        assert told[0].memory_limit_in_bytes >> 20 == {"96Mi": 96, "32Mi": 32, None: 64}[memory]
        assert told[-1].memory_limit_in_bytes >> 20 == (int(memory[:-2]) if memory is not None else 32)
        assert {one.cpu_quota for one in told} == {10_000 if memory is not None else 20_000}


async def test_a_resize_that_the_runtime_rejects_for_the_sandbox_changes_no_container(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        node.fake.faults.add(SANDBOX, Fault(error="UNKNOWN", details="rejected by a plugin", times=9))
        await node.want(sized("200m"))
        await node.until(lambda: "ResizeError" in dict(node.events()))
        assert "rejected by a plugin" in dict(node.events())["ResizeError"]
        assert node.count_of(UPDATE) == 0


async def test_a_refused_resize_leaves_the_pod_unchanged_and_reports_the_reason(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodRejected(question.uid, "Infeasible", "too much"))
        await node.want(sized("200m"))
        await node.until(lambda: node.observed().resize is not None)
        observed = node.observed()
        refused = present(observed.resize)
        assert (refused.reason, refused.message) == ("Infeasible", "too much")
        assert b"100m" in observed.pod
        assert b"200m" not in observed.pod
        assert node.count_of(UPDATE) == 0
        assert dict(node.events())["ResizeInfeasible"].startswith('Pod resize Infeasible: {"containers":[{"name":"a",')
        await node.want(sized("0.1"))
        await node.until(lambda: node.observed().resize is None)


class Manager:
    """Answers `Deferred` until there is room."""

    def __init__(self) -> None:
        self.room, self.calls = False, list[ResizePod]()

    def __call__(self, question: ResizePod) -> PodAdmitted | PodRejected:
        self.calls.append(question)
        return PodAdmitted(question.uid, "") if self.room else PodRejected(question.uid, "Deferred", "later")


async def deferred(node: Driven, manager: Manager) -> None:
    await up(node, manager)
    await node.want(sized("200m"))
    await node.until(lambda: node.observed().resize is not None)
    await node.settled()


@pytest.mark.parametrize("how", ["told", "new manager", "time", "clock set back"])
async def test_a_deferred_resize_is_requested_again_when_there_may_be_room(tmp_path, how):
    manager = Manager()
    async with Driven(tmp_path) as node:
        await deferred(node, manager)
        await node.pass_time(10)
        assert [one.since for one in manager.calls] == [0.0], "nothing is asked for meanwhile"
        manager.room = True
        if how == "told":
            await node.harness.deliver(ResizeMayFit("u"))
        elif how == "new manager":
            await node.harness.deliver(Hello(CONTAINER_MANAGER, 2))
        else:
            node.clock_offset = -7200.0 if how == "clock set back" else 0.0
            await node.pass_time(DEFERRED_SECONDS)
        await node.until(lambda: node.count_of(UPDATE) == 1)
        await node.settled()
        assert node.observed().resize is None
        assert manager.calls[-1].since > 0.0
        assert [reason for reason, _ in node.events()].count("ResizeDeferred") == 1


async def test_a_waiting_request_is_reported_once_despite_changing_figures(tmp_path):
    used = iter(range(100, 200))
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodRejected(question.uid, "Deferred", f"used: {next(used)}", "OutOfcpu"))
        for generation in (2, 3):
            await node.want(sized("200m" if generation == 2 else "300m", metadata={"generation": generation}))
            for _ in range(3):
                await node.harness.deliver(ResizeMayFit("u"))
                await node.settled()
        told = [text for reason, text in node.events() if reason == "ResizeDeferred"]
        assert all(text.startswith("Pod resize OutOfcpu: ") for text in told), "the event has the check's reason"
        assert ['"generation":2' in told[0], '"generation":3' in told[1], len(told)] == [True, True, 2]
        assert present(node.observed().resize).message != "used: 100", "the condition has the newest"


async def test_room_for_a_resize_that_was_taken_back_is_given_back(tmp_path):
    manager = Manager()
    async with Driven(tmp_path) as node:
        await deferred(node, manager)
        await node.want(sized("100m"))
        await node.until(lambda: node.observed().resize is None)
        (order,) = node.harness.sent(CountRunningPod)
        assert b"100m" in order.pod
        await node.harness.deliver(ResizeMayFit("u"))
        await node.settled()
        assert len(node.harness.sent(CountRunningPod)) == 1 or b"100m" in node.harness.sent(CountRunningPod)[-1].pod
        assert len(manager.calls) == 1


async def test_resources_of_a_deferred_resize_are_released_when_an_infeasible_one_replaces_it(tmp_path):
    def answer(question: ResizePod) -> PodRejected:
        return PodRejected(question.uid, "Infeasible" if b"300m" in question.pod else "Deferred", "no")

    def reason(node: Driven) -> str:
        resize = node.observed().resize
        return resize.reason if resize is not None else ""

    async with Driven(tmp_path) as node:
        await up(node, answer)
        await node.want(sized("200m"))
        await node.until(lambda: reason(node) == "Deferred")
        assert node.harness.sent(CountRunningPod) == []
        await node.want(sized("300m"))
        await node.until(lambda: reason(node) == "Infeasible")
        (order,) = node.harness.sent(CountRunningPod)
        assert b"100m" in order.pod


async def test_a_resize_queued_behind_another_is_requested_when_that_is_done(tmp_path):
    manager = Manager()
    async with Driven(tmp_path) as node:
        manager.room = True
        await up(node, manager)
        node.fake.faults.add(UPDATE, Fault(error="UNKNOWN", times=1))
        await node.want(sized("200m"))
        await node.until(lambda: node.observed().resize is not None and bool(present(node.observed().resize).error))
        manager.room = False
        await node.want(sized("300m"))
        await node.until(lambda: present(node.observed().resize).reason == "Deferred")
        for _ in range(3):
            await node.pass_time(10)
        await node.until(lambda: not present(node.observed().resize).in_progress)
        await node.settled()
        asked = [b"300m" in one.pod for one in manager.calls]
        assert asked == [False, True, True], "CountRunningPod has had the manager forget it"


async def test_a_refused_call_to_the_runtime_is_retried_while_other_work_for_the_pod_continues(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        node.fake.faults.add(UPDATE, Fault(error="UNKNOWN", times=2))
        await node.want(sized("200m"))
        await node.until(lambda: node.observed().resize is not None and bool(present(node.observed().resize).error))
        assert node.observed().actual_resources["a"].requests["cpu"] == "100m"
        await node.end("b", 1)
        await node.until(lambda: node.running("b"))
        for _ in range(4):
            await node.pass_time(10)
        await node.until(lambda: node.observed().resize is None)
        assert node.attempts("a") == [0]


async def test_the_resize_policy_of_a_container_restarts_it(tmp_path):
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(sized("100m", resizePolicy=policy))
        await node.until(lambda: node.running("a"))
        await node.want(sized("100m", memory="80Mi", resizePolicy=policy))
        await node.until(lambda: node.attempts("a") in ([0, 1], [1, 0]) and node.running("a"))
        assert node.count_of(UPDATE) == 0
        assert ("Killing", "Container a resize requires restart") in node.events()


async def test_a_silent_container_manager_delays_nothing_else(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: None)
        await node.want(sized("200m"))
        await node.end("b", 1)
        for _ in range(3):
            await node.pass_time(11)
        await node.until(lambda: node.running("b"))
        assert node.count_of(UPDATE) == 0
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        for _ in range(3):
            await node.pass_time(11)
        await node.until(lambda: node.count_of(UPDATE) == 1)


@asynccontextmanager
async def again(tmp_path: Path, before: Driven, wanted: Pod) -> AsyncIterator[Driven]:
    """The next incarnation, once it has seen what runs."""
    async with Driven(tmp_path, before.fake, before.clock) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(wanted)
        await node.first_look()
        await node.sources(wanted)
        await node.settled()
        yield node


def cpu(node: Driven) -> int:
    """The weight that the runtime gives the container."""
    return node.containers("a")[-1].resources.cpu_shares


@pytest.mark.parametrize("step", ["before the runtime is asked", "after it has answered"])
async def test_the_next_agent_finishes_a_resize(tmp_path, step):
    """It dies while the runtime is asked, or before it has written down that it was."""
    async with Driven(tmp_path) as first:
        await up(first, lambda question: PodAdmitted(question.uid, ""))
        first.fake.faults.add(UPDATE, Fault(hang=True) if step.startswith("before") else Fault(answer_lost=True))
        await first.want(sized("200m"))
        await first.until(lambda: first.count_of(UPDATE) == 1)
        await first.settled()
    first.fake.faults.clear()
    async with again(tmp_path, first, sized("200m")) as node:
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        assert cpu(node) == 204
        assert node.attempts("a") == [0]
        assert node.observed().resize is None
        asked = node.count_of(UPDATE)
        await node.pass_time(300)
        assert node.count_of(UPDATE) == asked


async def test_a_resize_withdrawn_after_a_crash_is_reverted(tmp_path):
    async with Driven(tmp_path) as first:
        await up(first, lambda question: PodAdmitted(question.uid, ""))
        first.fake.faults.add(UPDATE, Fault(answer_lost=True))
        await first.want(sized("200m"))
        await first.until(lambda: cpu(first) == 204)
        await first.settled()
    first.fake.faults.clear()
    async with again(tmp_path, first, sized("100m")) as node:
        await node.until(lambda: cpu(node) == 102)


@pytest.mark.parametrize("policy", ["NotRequired", "RestartContainer"])
async def test_an_init_container_that_runs_is_resized_and_one_that_has_ended_is_left(tmp_path, policy):
    def with_init(cpu: str) -> Pod:
        how = [{"resourceName": "cpu", "restartPolicy": policy}]
        resources: dict[str, Any] = {"resources": {"requests": {"cpu": cpu}}, "resizePolicy": how}
        first = container("first", ["sh", "-c", "true"], **resources)
        return pod(initContainers=[first, container("init", **resources)], containers=[container("a")])

    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(with_init("100m"))
        await node.until(lambda: bool(node.containers("first")))
        await node.end("first", 0)
        await node.until(lambda: node.running("init"))
        await node.settled()
        await node.want(with_init("200m"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        await node.until(lambda: node.running("init"))
        await node.settled()
        if policy == "NotRequired":
            (asked,) = node.fake.requests_for(UPDATE)
            assert asked.container_id == node.containers("init")[0].id
            assert asked.linux.cpu_shares == 204
            assert node.attempts("init") == [0]
        else:
            assert node.count_of(UPDATE) == 0
            assert node.attempts("init") == [0, 1]
            assert node.containers("init")[-1].config.linux.resources.cpu_shares == 204
        assert node.attempts("first") == [0]
        assert not node.containers("a")


def keep_as_a_kubelet(home: Path, allocated: str, actuated: str) -> None:
    """The files of a kubelet with these requests of cpu of container `a`."""
    for name, cpu in ((ALLOCATED, allocated), (ACTUATED, actuated)):
        resources = ResourceRequirements(requests={"cpu": cpu, "memory": "64Mi"})
        record = PodRecord(ContainerResources={"a": resources}, PodLevelResources=None)
        (home / "root" / name).write_bytes(encode({"u": record}))


async def test_a_resize_refused_by_a_kubelet_is_requested_again(tmp_path):
    async with Driven(tmp_path) as first:
        await up(first, lambda question: PodAdmitted(question.uid, ""))
    keep_as_a_kubelet(tmp_path, "100m", "100m")
    async with Driven(tmp_path, first.fake, first.clock) as node:
        node.answer(ResizePod, lambda question: PodRejected(question.uid, "Infeasible", "too much"))
        await node.want(sized("900"))
        await node.first_look()
        await node.sources(sized("900"))
        await node.settled()
        await node.until(lambda: node.observed().resize is not None)
        assert b"100m" in node.observed().pod
        assert present(node.observed().resize).reason == "Infeasible"
        assert node.count_of(UPDATE) == 0


async def test_a_resize_that_a_kubelet_has_allocated_and_not_actuated_is_finished(tmp_path):
    async with Driven(tmp_path) as first:
        await up(first, lambda question: PodAdmitted(question.uid, ""))
        for one in first.fake.world.containers.values():
            one.config.annotations.pop(CONTAINER_RESOURCES, None)  # a kubelet does not write it
    keep_as_a_kubelet(tmp_path, "200m", "100m")
    async with again(tmp_path, first, sized("200m")) as node:
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
        assert cpu(node) == 204
        assert node.attempts("a") == [0]
        asked = node.count_of(UPDATE)
    async with again(tmp_path, node, sized("200m")) as third:
        await third.pass_time(300)
        assert third.count_of(UPDATE) == asked, "what was actuated is kept"


async def test_a_kubelet_finds_what_the_containers_have(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        await node.want(sized("200m"))
        await node.until(lambda: "ResizeCompleted" in dict(node.events()))
    for name in (ALLOCATED, ACTUATED):
        (record,) = read(tmp_path / "root" / name).values()
        assert record.containers["a"].requests == {"cpu": "200m", "memory": "64Mi"}
        assert record.ResizeUnderWay is msgspec.UNSET


async def test_a_new_container_manager_gets_the_resources_of_the_containers(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, lambda question: PodAdmitted(question.uid, ""))
        before = len(node.harness.sent(ActuatedResources))
        await node.harness.deliver(Hello(CONTAINER_MANAGER, 2))
        (order,) = node.harness.sent(ActuatedResources)[before:]
        assert {name: one.id for name, one in order.containers.items()} == {
            name: node.containers(name)[0].id for name in "ab"
        }
