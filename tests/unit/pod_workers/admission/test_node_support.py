"""What the node cannot give is refused, never left out in silence."""

from __future__ import annotations

import pytest

from actors.pod_workers.admission.node_support import Support, read_apparmor, unsupported, unsupported_by_agent
from tests.support.driven import container, pod

CONFINED = {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
OPEN = {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}
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
    assert unsupported(pod(**spec), Support())[0] == reason
    assert unsupported(pod(**spec), Support(apparmor=True, strict_groups=True)) == ("", "")


@pytest.mark.parametrize(
    "spec",
    [
        {"hostUsers": False},
        {"containers": [container("a", volumeDevices=[{"name": "d", "devicePath": "/dev/x"}])]},
    ],
)
def test_what_this_agent_cannot_do_yet_is_said(spec):
    assert unsupported_by_agent(pod(**spec))
    assert not unsupported_by_agent(pod(hostUsers=True))


@pytest.mark.parametrize(("content", "enabled"), [("Y\n", True), ("N\n", False), ("", False), (None, False)])
def test_apparmor_is_on_when_the_kernel_says_so(tmp_path, content, enabled):
    if content is not None:
        (tmp_path / "enabled").write_text(content)
    assert read_apparmor(f"{tmp_path}/enabled") == enabled
