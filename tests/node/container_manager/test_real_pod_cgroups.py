"""The container manager on this machine's own cgroups, below a root of the test's own."""

import json
import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

from actors.container_manager.actor import ContainerManager
from actors.container_manager.messages import AdmitPod, PodAdmitted, PodReleased, ReleasePod
from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux.cgroup_tree import find
from supervision.testing.harness import Harness

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="cgroups need root")]


@pytest.fixture
def manager(tmp_path):
    root = f"/troupelet-test-{uuid.uuid4().hex[:8]}"
    config = KubeletConfiguration(cgroupRoot=root, podPidsLimit=64, makeIPTablesUtilChains=False)
    context = Agent(root_dir=str(tmp_path), run_dir=f"{tmp_path}/run", workers=1, config=config, managed_runtime=True)
    yield Harness(ContainerManager, name="container_manager", context=context)
    tree = find()
    tree.kill(root)
    for _ in range(50):
        if not tree.remove(root):
            break
        subprocess.run(["sleep", "0.02"], check=True)
    assert not tree.anywhere(root)


def pod():
    resources = {"limits": {"cpu": "500m", "memory": "64Mi"}}
    return json.dumps(
        {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": resources}]}}
    ).encode()


def enter(tree, cgroup, process):
    for hierarchy in tree.hierarchies:
        if os.path.isdir(hierarchy.path + cgroup):
            Path(f"{hierarchy.path}{cgroup}/cgroup.procs").write_text(str(process.pid))


async def test_a_pods_cgroup_is_made_and_removed_with_what_still_runs_in_it(manager):
    tree = find()
    stray = subprocess.Popen(["sleep", "60"])
    try:
        async with manager:
            answer = await manager.deliver(AdmitPod("u1", pod()))
            assert isinstance(answer, PodAdmitted)
            v1 = tree.version == 1
            limit = tree.read(answer.cgroup_parent, "memory", "memory.limit_in_bytes" if v1 else "memory.max")
            assert limit == str(64 << 20)
            assert tree.read(answer.cgroup_parent, "pids", "pids.max") == "64"
            tree.create(f"{answer.cgroup_parent}/container")
            for hierarchy in tree.hierarchies:  # as the runtime does, also where pods are not limited
                os.makedirs(f"{hierarchy.path}{answer.cgroup_parent}/container", exist_ok=True)
            enter(tree, f"{answer.cgroup_parent}/container", stray)

            released = await manager.deliver(ReleasePod("u1"))

            assert stray.wait(5) == -signal.SIGKILL
            if released.message:
                await manager.advance(1)
            assert not tree.anywhere(answer.cgroup_parent)
            assert await manager.deliver(ReleasePod("u1")) == PodReleased("u1")
    finally:
        stray.kill()
        stray.wait(5)


async def test_an_orphans_cgroup_is_removed_and_one_with_processes_stays(manager):
    tree = find()
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        async with manager:
            await manager.settle()
            top = manager.actor._cgroups._cgroups.top
            tree.create(f"{top}/burstable/podempty")
            tree.create(f"{top}/burstable/podother")
            enter(tree, f"{top}/burstable/podother", sleeper)

            await manager.deliver(ShardPods("pod_workers/worker/0", 1, []))
            await manager.advance(11)

            assert not tree.anywhere(f"{top}/burstable/podempty")
            assert tree.exists(f"{top}/burstable/podother")
            assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait(5)
