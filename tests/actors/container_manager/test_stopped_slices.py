"""A pod's slice that somebody else stopped."""

import shutil

from actors.container_manager.messages import CountRunningPod
from tests.support.managed_host import admit, pod


async def test_a_slice_that_was_stopped_from_outside_is_started_again_with_its_limits_when_its_pod_is_counted(host):
    held = pod(limits={"cpu": "500m", "memory": "64Mi"})
    async with host.start(driver="systemd") as manager:
        await admit(manager, "u1", held)
        (first,) = [body for method, body in host.calls if method == "StartTransientUnit" and "podu1" in body[0]]
        for controller in host.has("kubepods.slice/kubepods-podu1.slice"):
            shutil.rmtree(host.root / "sys/fs/cgroup" / controller / "kubepods.slice/kubepods-podu1.slice")
        await manager.deliver(CountRunningPod("u1", held))

        assert [body for method, body in host.calls if method == "StartTransientUnit" and "podu1" in body[0]][1:] == [
            first
        ]
    assert len(host.has("kubepods.slice/kubepods-podu1.slice")) == 4
