"""What only newer runtimes can: containerd 2.x with runc 1.2 and newer.

Skipped, with a reason, where the runtime says that it cannot. TROUPELET_TEST_PATH names the directory of another
containerd and runc.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime.images import BUSYBOX_IMAGE
from actors.device_manager.messages import Devices, GetDevices
from actors.shared.cri.client import CriClient
from actors.shared.cri.model import RuntimeHandler, RuntimeStatus
from tests.node.pod_workers.test_real_pods import IDLE, PodNode, container
from tests.support.cdi import specified
from tests.support.runtime import RealRuntime

ROOT = Path(__file__).parents[3]
THING = "vendor.test/thing"


class NewerNode(PodNode):
    def devices(self) -> list[str]:
        """IDs of all that are healthy."""
        client = self.client()
        try:
            found = client.ask(GetDevices(), Devices, name="device_manager", timeout=5.0)
        finally:
            client.close()
        return sorted(one for listed in found.allocatable for one in listed.ids)


@pytest.fixture(scope="module")
def features(session_runtime: RealRuntime) -> RuntimeStatus:
    async def ask() -> RuntimeStatus:
        client = CriClient(session_runtime.endpoint)
        try:
            return await client.status()
        finally:
            await client.close()

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def handler(features: RuntimeStatus) -> RuntimeHandler:
    """The default one."""
    return next((one for one in features.handlers if not one.name), RuntimeHandler(name=""))


@pytest.fixture(scope="module")
def node(session_runtime: RealRuntime, features: RuntimeStatus) -> Iterator[NewerNode]:
    if not features.handlers:
        pytest.skip("NOT TESTED: this runtime tells no features of its handlers")
    with NewerNode(session_runtime, "newer").serving() as agent:
        yield agent


def test_a_pod_with_a_user_namespace_has_ids_of_its_own_and_its_volumes(
    node: PodNode, handler: RuntimeHandler, tmp_path: Path
) -> None:
    if not handler.user_namespaces:
        pytest.skip("NOT TESTED: this runtime has no user namespaces (it needs runc 1.2 or newer)")
    (tmp_path / "given").write_text("from the host\n")
    labels = {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}
    volumes = [
        {"name": "scratch", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "info", **labels},
        {"name": "host", "hostPath": {"path": str(tmp_path), "type": "Directory"}},
    ]
    mounts = [{"name": one["name"], "mountPath": f"/v/{one['name']}"} for one in volumes]
    script = (
        "cat /proc/self/uid_map; id -u; cat /v/info/name; echo; cat /v/host/given; "
        "for one in scratch memory host; do echo mine > /v/$one/mine; stat -c '%u %g' /v/$one/mine; done; "
        f"echo ended well > /dev/termination-log; {IDLE}"
    )
    node.run("users", container("main", script, volumeMounts=mounts), volumes=volumes, hostUsers=False)
    node.wait_phase("users", "Running")
    node.until(lambda: len(node.log_of("users")) >= 7, "its log")
    inside, outside, length = map(int, node.log_of("users")[0].split())
    assert (inside, length) == (0, 65536)
    assert outside >= 65536
    assert node.log_of("users")[1:] == ["0", "test", "from the host", *["0 0"] * 3]
    scratch = Path(node.home, "root", "pods", node.uid("users"), "volumes/kubernetes.io~empty-dir/scratch/mine")
    assert (scratch.stat().st_uid, (tmp_path / "mine").stat().st_uid) == (0, 0)
    [one] = [one for one in node.containers() if one.pod_uid == node.uid("users")]

    async def run(client: CriClient) -> tuple[int, bytes]:
        answer = await client.exec_sync(one.id, ["sh", "-c", "id -u; cat /proc/1/uid_map"], 10)
        return answer.exit_code, answer.stdout

    code, said = node.ask_runtime(run)
    assert (code, [int(word) for word in said.split()]) == (0, [0, 0, outside, 65536])
    node.run("others", container("main", f"cat /proc/self/uid_map; {IDLE}"), hostUsers=False)
    node.wait_phase("others", "Running")
    node.until(lambda: len(node.log_of("others")) == 1, "its log")
    assert int(node.log_of("others")[0].split()[1]) not in (outside, 0)
    node.end("users", "others")


def test_mounts_below_a_recursively_read_only_mount_are_read_only(
    node: PodNode, handler: RuntimeHandler, tmp_path: Path
) -> None:
    if not handler.recursive_read_only_mounts:
        pytest.skip("NOT TESTED: this runtime has no recursively read-only mounts")
    (tmp_path / "below").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", tmp_path / "below"], check=True)
    try:
        host = {"name": "host", "hostPath": {"path": str(tmp_path), "type": "Directory"}}
        mount = {"name": "host", "readOnly": True}
        mounts = [
            {**mount, "mountPath": "/plain"},
            {**mount, "mountPath": "/deep", "recursiveReadOnly": "Enabled"},
            {**mount, "mountPath": "/maybe", "recursiveReadOnly": "IfPossible"},
        ]
        script = "for one in plain deep maybe; do touch /$one/below/$one 2>/dev/null && echo $one; done; true"
        node.run("read-only", container("main", script, volumeMounts=mounts), volumes=[host], restartPolicy="Never")
        status = node.wait_phase("read-only", "Succeeded")
        assert node.log_of("read-only") == ["plain"]
        shown = {
            one["mountPath"]: one.get("recursiveReadOnly") for one in status["containerStatuses"][0]["volumeMounts"]
        }
        assert shown == {"/plain": "Disabled", "/deep": "Enabled", "/maybe": "Enabled"}
        node.end("read-only")
    finally:
        subprocess.run(["umount", tmp_path / "below"], check=True)


def test_strict_groups_are_those_of_the_pod_and_not_of_the_image(node: PodNode, features: RuntimeStatus) -> None:
    if not features.supplemental_groups_policy:
        pytest.skip("NOT TESTED: this runtime has no supplementalGroupsPolicy")
    for policy, groups in (("Merge", [1000, 2000, 3000]), ("Strict", [1000, 3000])):
        name, context = policy.lower(), {"runAsUser": 1000, "supplementalGroups": [3000]}
        node.run(
            name, container("main", f"id -G; {IDLE}"), securityContext={**context, "supplementalGroupsPolicy": policy}
        )
        node.wait_phase(name, "Running")
        node.until(lambda name=name: len(node.log_of(name)) == 1, "its log")  # type: ignore[misc]
        assert sorted(map(int, node.log_of(name)[0].split())) == groups
        [status] = node.status(name)["containerStatuses"]
        assert (status["user"]["linux"]["uid"], sorted(status["user"]["linux"]["supplementalGroups"])) == (1000, groups)
    node.end("merge", "strict")


def test_an_image_is_a_read_only_volume(node: PodNode) -> None:
    image = {"name": "tools", "image": {"reference": BUSYBOX_IMAGE, "pullPolicy": "IfNotPresent"}}
    mounts = [{"name": "tools", "mountPath": "/tools"}]
    script = "ls /tools/bin/busybox; touch /tools/x 2>/dev/null || echo read-only"
    node.run("image", container("main", script, volumeMounts=mounts), volumes=[image], restartPolicy="Never")
    node.wait_phase("image", "Succeeded")
    assert node.log_of("image") == ["/tools/bin/busybox", "read-only"]
    node.end("image")


def test_cdi_devices_of_a_plugin_are_in_the_container(node: NewerNode) -> None:
    command = [sys.executable, "-m", "tests.support.device_plugin", f"{node.home}/root", THING, "d0"]
    environment = {**os.environ, "TROUPELET_TEST_CDI": "1"}
    script = f"echo $CDI_D0 $THINGS; ls /dev/cdi-d0; echo gone > /dev/cdi-d0 && echo writable; {IDLE}"
    asking = container("main", script, resources={"limits": {THING: "1"}})
    with specified(THING, "d0"):
        plugin = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert plugin.stdout is not None
            assert plugin.stdout.readline() == f"registered {THING}\n"
            node.until(lambda: node.devices() == ["d0"], "the device")
            node.run("devices", asking)
            node.wait_phase("devices", "Running")
            node.until(lambda: len(node.log_of("devices")) == 3, "its log")
            assert node.log_of("devices") == ["d0 d0", "/dev/cdi-d0", "writable"]
            node.end("devices")
        finally:
            plugin.kill()
            plugin.communicate()


def test_a_device_that_no_specification_names_is_an_error_of_the_container(node: NewerNode) -> None:
    command = [sys.executable, "-m", "tests.support.device_plugin", f"{node.home}/root", THING, "d1"]
    plugin = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "TROUPELET_TEST_CDI": "1"})
    try:
        node.until(lambda: node.devices() == ["d1"], "the device")
        node.run("unspecified", container("main", resources={"limits": {THING: "1"}}))

        def why() -> str:
            [status] = node.status("unspecified").get("containerStatuses") or [{}]
            return str(status.get("state", {}).get("waiting", {}).get("message", ""))

        node.until(lambda: f"unresolvable CDI devices {THING}=d1" in why(), "its reason")
        node.end("unspecified")
    finally:
        plugin.kill()
        plugin.wait()
