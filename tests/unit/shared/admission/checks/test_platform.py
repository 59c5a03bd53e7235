"""What node and runtime do not support is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.shared.admission.checks.apparmor import unavailable_apparmor
from actors.shared.admission.checks.declared_features import undeclared_features
from actors.shared.admission.checks.groups_policy import unsupported_groups_policy
from actors.shared.admission.checks.pod_level_resources import pod_level_resources
from actors.shared.admission.request import CheckFunction, NodeState, PodAdmitAttributes, demand_of
from actors.shared.kube.apparmor import ANNOTATION
from actors.shared.kube.declared_features import declared_features
from actors.shared.kube.pod import PodStatus
from tests.support.shard_harness import container, pod

CONFINED: dict[str, Any] = {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
OPEN: dict[str, Any] = {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}
STRICT = {"securityContext": {"supplementalGroupsPolicy": "Strict"}}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({}, ""),
        (OPEN, ""),
        (CONFINED, "AppArmor"),
        ({"containers": [container("a", **CONFINED)]}, "AppArmor"),
        ({"initContainers": [container("i", **CONFINED)]}, "AppArmor"),
        ({**CONFINED, "containers": [container("a", **OPEN)]}, "AppArmor"),
        ({"metadata": {"annotations": {f"{ANNOTATION}c": "runtime/default"}}}, "AppArmor"),
        ({"metadata": {"annotations": {f"{ANNOTATION}c": "localhost/k8s-nginx"}}}, "AppArmor"),
        ({"metadata": {"annotations": {f"{ANNOTATION}c": "unconfined", "other": "runtime/default"}}}, ""),
        (STRICT, "SupplementalGroupsPolicyNotSupported"),
    ],
)
def test_a_feature_that_node_or_runtime_lacks_is_a_reason_for_refusal(spec, reason):
    candidate = PodAdmitAttributes(pod(**spec), demand_of("u", pod(**spec)))

    def reasons(state: NodeState) -> str:
        found = [check(candidate, state) for check in (unsupported_groups_policy, unavailable_apparmor)]
        return ",".join(one.reason for one in found if one is not None)

    assert reasons(NodeState(allocatable={})) == reason
    assert reasons(NodeState(allocatable={}, apparmor=True, strict_groups=True)) == ""


def refused(check: CheckFunction, state: NodeState, status: dict[str, Any] | None = None, **spec: Any) -> str:
    whole = pod(**spec)
    if status:
        whole = msgspec.structs.replace(whole, status=msgspec.convert(status, PodStatus))
    found = check(PodAdmitAttributes(whole, demand_of("u", whole)), state)
    return found.message if found is not None else ""


def test_apparmor_is_not_checked_again_for_a_pod_that_has_run() -> None:
    node = NodeState(allocatable={})
    assert refused(unavailable_apparmor, node, {"phase": "Pending"}, **CONFINED)
    assert not refused(unavailable_apparmor, node, {"phase": "Running"}, **CONFINED)


def test_a_groups_policy_that_the_runtime_does_not_support_is_refused_with_the_kubelets_message() -> None:
    text = refused(unsupported_groups_policy, NodeState(allocatable={}), **STRICT)
    assert text == "SupplementalGroupsPolicy=Strict is not supported in this node"


def test_resources_of_a_whole_pod_need_their_gate() -> None:
    off, given = NodeState(allocatable={}, pod_level=False), {"resources": {"limits": {"cpu": "1"}}}
    assert refused(pod_level_resources, off, **given) == "PodLevelResources feature gate is disabled"
    assert not refused(pod_level_resources, NodeState(allocatable={}), **given)
    assert not refused(pod_level_resources, off, resources={})
    assert not refused(pod_level_resources, off)


def test_a_feature_that_the_node_does_not_declare_is_refused_by_name() -> None:
    rules: dict[str, Any] = {"containers": [container("a", restartPolicyRules=[{"action": "RestartAllContainers"}])]}
    both: dict[str, Any] = {**rules, "hostNetwork": True, "hostUsers": False}
    names = "RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport"
    none = NodeState(allocatable={}, features=frozenset())
    assert refused(undeclared_features, none, **both) == f"Pod requires node features that are not available: {names}"
    some = NodeState(allocatable={}, features=frozenset(declared_features(lambda gate: True)))
    assert not refused(undeclared_features, some, **rules)
    assert refused(undeclared_features, some, **both).endswith(": UserNamespacesHostNetworkSupport")
    assert not refused(undeclared_features, NodeState(allocatable={}), **both), "no feature is declared at all"
