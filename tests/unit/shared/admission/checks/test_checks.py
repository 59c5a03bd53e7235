"""The list of admission checks: its order is the kubelet's, and the first refusal counts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.shared.admission.checks import CHECKS, refusal
from actors.shared.admission.checks.host_ports import conflict
from actors.shared.admission.checks.node_conditions import DISK_PRESSURE
from actors.shared.admission.node_object import NodeMetadata, NodeObject, NodeSpec, NodeTaint
from actors.shared.admission.request import AdmittedUsage, Demand, NodeState, PodAdmitAttributes
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.pod import HostPort

PORT = ("", 80, "TCP")
RESTARTS = [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]
SPEC = {
    "containers": [{"name": "c"}],
    "securityContext": {
        "sysctls": [{"name": "kernel.msgmax", "value": "1"}],
        "supplementalGroupsPolicy": "Strict",
        "appArmorProfile": {"type": "RuntimeDefault"},
    },
    "nodeSelector": {"zone": "a"},
    "nodeName": "n",
    "resources": {"requests": {"cpu": "2m"}},
}
POD = PodAdmitAttributes(
    decode_pod(encode({"metadata": {"name": "p"}, "spec": {**SPEC, "containers": RESTARTS}})),
    Demand("u", {"cpu": 2}, frozenset({PORT}), "BestEffort"),
)
HERE, ELSEWHERE = NodeMetadata("n", {"zone": "a"}), NodeMetadata("n", {"zone": "b"})
TAINTED = NodeSpec([NodeTaint("gone", "NoExecute")])
FREE = NodeState(
    allocatable={"pods": 1, "cpu": 2},
    allowed_sysctls=["kernel.msg*"],
    object=NodeObject(HERE),
    strict_groups=True,
    apparmor=True,
)
IN_ORDER: list[tuple[str, dict[str, Any]]] = [
    ("Evicted", {"conditions": frozenset({DISK_PRESSURE})}),
    ("SysctlForbidden", {"allowed_sysctls": []}),
    ("SupplementalGroupsPolicyNotSupported", {"strict_groups": False}),
    ("OutOfcpu", {"usage": AdmittedUsage(requests={"cpu": 1}, ports=frozenset({PORT}))}),
    ("NodeAffinity", {"object": NodeObject(ELSEWHERE, TAINTED)}),
    ("NodeName", {"object": NodeObject(NodeMetadata("m", {"zone": "a"}), TAINTED)}),
    ("NodePorts", {"usage": AdmittedUsage(ports=frozenset({PORT}))}),
    ("TaintToleration", {"object": NodeObject(HERE, TAINTED)}),
    ("AppArmor", {"apparmor": False}),
    ("PodLevelResourcesNotSupported", {"pod_level": False}),
    ("PodFeatureUnsupported", {"features": frozenset()}),
    ("NodeShutdown", {"shutting_down": True}),
]


def test_each_check_has_a_place_of_its_own_in_the_order():
    assert len({check.order for check in CHECKS}) == len(CHECKS) == len({check.refuse for check in CHECKS})


def reason(state: dict[str, Any], *, admitted: bool = False) -> str:
    fields = {name: getattr(FREE, name) for name in FREE.__struct_fields__}
    found = refusal(POD, NodeState(**{**fields, **state}), admitted=admitted)
    return found.reason if found is not None else ""


def test_a_pod_that_no_check_refuses_is_admitted() -> None:
    assert reason({}) == ""


def test_the_refusal_is_the_one_that_the_kubelet_finds_first() -> None:
    state: dict[str, Any] = {}
    for expected, wrong in reversed(IN_ORDER):
        assert reason(wrong) == expected
        state |= wrong
        assert reason(state) == expected


def test_a_running_pod_is_checked_only_by_its_own_spec() -> None:
    refused = [expected for expected, wrong in IN_ORDER if reason(wrong, admitted=True)]
    assert refused == ["SysctlForbidden", "SupplementalGroupsPolicyNotSupported", "AppArmor"]


CLAIM = {"name": "gpu", "resourceClaimName": "c"}
EXTENDED = {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}
STATIC = {"annotations": {"kubernetes.io/config.source": "file"}}
NO_DRA = "spec.resourceClaims: dynamic resource allocation is not supported on this node"


@pytest.mark.parametrize(
    ("wanted", "node", "message"),
    [
        ({"spec": {"resourceClaims": []}}, {}, ""),
        ({"spec": {"resourceClaims": [CLAIM]}}, {}, NO_DRA),
        ({"status": EXTENDED}, {"extended_claims": True}, NO_DRA),
        ({"spec": {"resourceClaims": [CLAIM]}}, {"claims": True}, ""),
        (
            {"status": EXTENDED},
            {"claims": True},
            "spec.resourceClaims: extended resources by dynamic resource allocation are not supported on this node",
        ),
        ({"status": EXTENDED}, {"claims": True, "extended_claims": True}, ""),
        (
            {"spec": {"resourceClaims": [CLAIM]}, "metadata": STATIC},
            {"claims": True},
            "spec.resourceClaims: a static pod cannot have resource claims",
        ),
    ],
)
def test_a_pod_whose_claims_would_not_be_prepared_is_refused(
    wanted: dict[str, Any], node: dict[str, bool], message: str
) -> None:
    raw = {
        "metadata": {"name": "p", **wanted.get("metadata", {})},
        "spec": {**SPEC, **wanted.get("spec", {})},
        "status": wanted.get("status", {}),
    }
    candidate = PodAdmitAttributes(decode_pod(encode(raw)), POD.demand)
    state = msgspec.structs.replace(FREE, **node)
    found = refusal(candidate, state)
    assert (found.reason, found.message) == ("PodFeatureUnsupported", message) if found else not message
    assert refusal(candidate, state, admitted=True) is None


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("", 80, "TCP"), ("", 80, "TCP"), True),
        (("", 80, "TCP"), ("", 80, "UDP"), False),
        (("", 80, "TCP"), ("", 81, "TCP"), False),
        (("10.0.0.1", 80, "TCP"), ("10.0.0.2", 80, "TCP"), False),
        (("10.0.0.1", 80, "TCP"), ("0.0.0.0", 80, "TCP"), True),
        (("", 80, "TCP"), ("10.0.0.2", 80, "TCP"), True),
        (("", 80, "TCP"), ("::", 80, "TCP"), True),
        (("::", 80, "TCP"), ("10.0.0.2", 80, "TCP"), False),
    ],
)
def test_ports_clash_on_the_same_address_or_on_any(one: HostPort, other: HostPort, clash: bool) -> None:
    assert conflict(one, other) == conflict(other, one) == clash
