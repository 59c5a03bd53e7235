"""What this agent does not support is refused, never ignored in silence."""

from __future__ import annotations

import pytest

from actors.pod_workers.containers.node_support import read_apparmor, unsupported_by_agent
from tests.support.driven import container, pod


@pytest.mark.parametrize(
    "spec",
    [
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
