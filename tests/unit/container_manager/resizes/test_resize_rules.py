"""Resizes that a node never carries out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.container_manager.resizes.resize_rules import ResizeRules
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.pod import Pod

CPU = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
MEMORY = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"'


def pod(cpu: str, memory: str = "64Mi", *, limited: bool = True, whole: dict[str, str] | None = None) -> Pod:
    amounts = {"cpu": cpu, "memory": memory}
    resources = {"requests": amounts, "limits": amounts if limited else {}}
    spec: dict[str, Any] = {"containers": [{"name": "a", "image": "i", "resources": resources}]}
    if whole is not None:
        spec["resources"] = {"requests": whole, "limits": whole}
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}, Pod)


def refusal(before: Pod, after: Pod, feature_gates: Any = None, **static: bool) -> tuple[str, str]:
    agent = Agent(config=msgspec.convert({"featureGates": feature_gates or {}}, KubeletConfiguration, strict=False))
    found = ResizeRules(agent.gate, **static).refusal(after, before)
    return (found.message, found.detail) if found is not None else ("", "")


def test_without_static_managers_all_may_be_resized() -> None:
    assert refusal(pod("1"), pod("2", "1Gi")) == ("", "")


@pytest.mark.parametrize(
    ("policy", "after", "message", "detail"),
    [
        ({"static_cpu": True}, pod("2"), CPU, "guaranteed_pod_cpu_manager_static_policy"),
        ({"static_memory": True}, pod("1", "1Gi"), MEMORY, "guaranteed_pod_memory_manager_static_policy"),
    ],
)
def test_a_guaranteed_pod_keeps_what_a_static_manager_gave_it(
    policy: dict[str, bool], after: Pod, message: str, detail: str
) -> None:
    assert refusal(pod("1"), after, **policy) == (message, detail)
    gates = {"InPlacePodVerticalScalingExclusiveCPUs": True, "InPlacePodVerticalScalingExclusiveMemory": True}
    assert refusal(pod("1"), after, **policy, feature_gates=gates) == ("", "")
    assert refusal(pod("1000m"), pod("1"), **policy) == ("", ""), "the same amount"


def test_the_other_resource_and_other_classes_are_free() -> None:
    assert refusal(pod("1"), pod("1", "1Gi"), static_cpu=True) == ("", "")
    assert refusal(pod("1", limited=False), pod("2", limited=False), static_cpu=True) == ("", "")


def test_the_pods_own_resources_are_resized_unless_the_gate_is_off() -> None:
    before, after = pod("1", whole={"cpu": "2"}), pod("1", whole={"cpu": "3"})
    assert refusal(before, after) == ("", "")
    off = {"InPlacePodLevelResourcesVerticalScaling": False}
    assert refusal(before, after, feature_gates=off) == (
        "InPlacePodLevelResourcesVerticalScaling is disabled",
        "plr_feature_gate_off",
    )
    assert refusal(before, before, feature_gates=off) == ("", "")


@pytest.mark.parametrize(
    ("policy", "gate", "refused"),
    [("", True, True), ("", False, False), ("Always", True, True), ("Always", False, True)],
)
def test_sidecars_count_and_other_init_containers_only_while_their_resize_is_on(
    policy: str, gate: bool, refused: bool
) -> None:
    def with_init(cpu: str) -> Pod:
        amounts = {"cpu": cpu, "memory": "64Mi"}
        resources = {"requests": amounts, "limits": amounts}
        init = {"name": "i", "image": "i", "resources": resources, "restartPolicy": policy}
        plain = msgspec.to_builtins(pod("1"))
        return msgspec.convert({**plain, "spec": {**plain["spec"], "initContainers": [init]}}, Pod)

    gates = {"InPlacePodVerticalScalingInitContainers": gate}
    found = refusal(with_init("1"), with_init("2"), gates, static_cpu=True)
    assert found == ((CPU, "guaranteed_pod_cpu_manager_static_policy") if refused else ("", ""))
