"""What node and runtime do not support is refused."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.admission.platform import unavailable_apparmor, unsupported_groups_policy
from actors.shared.admission.request import Candidate, NodeState, demand_of
from tests.support.driven import container, pod

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
        ({**CONFINED, "containers": [container("a", **OPEN)]}, ""),
        (STRICT, "SupplementalGroupsPolicyNotSupported"),
    ],
)
def test_what_node_or_runtime_cannot_do_is_a_reason_to_refuse(spec, reason):
    candidate = Candidate(pod(**spec), demand_of("u", pod(**spec)))

    def reasons(state: NodeState) -> str:
        found = [check(candidate, state) for check in (unsupported_groups_policy, unavailable_apparmor)]
        return ",".join(one.reason for one in found if one is not None)

    assert reasons(NodeState(allocatable={})) == reason
    assert reasons(NodeState(allocatable={}, apparmor=True, strict_groups=True)) == ""
