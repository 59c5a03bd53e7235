"""Runs in the guest: a volume manager without its tree mounts disks of a target of the kernel's own, and of scsi_debug.

    disk_scenarios.py NAME

Each scenario raises AssertionError, or ends with the host as it was."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.container_manager.messages import GetNodeResources
from actors.shared.config.agent import Agent
from actors.shared.linux import mountinfo
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted, VolumesUnmounted
from supervision.actor import AskError
from supervision.testing.harness import Harness

SECONDS = 900.0
IQN, PORTAL = "iqn.2003-01.org.example:disk", "127.0.0.1:3260"
TARGET = f"/sys/kernel/config/target/iscsi/{IQN}/tpgt_1"
ROOT = Path("/var/lib/disk-scenarios")
SOURCE: dict[str, Any] = {"targetPortal": "127.0.0.1", "iqn": IQN, "lun": 0}
NAME = f"kubernetes.io/iscsi/127.0.0.1:{IQN}:0"
SLOW_LOGIN = """#!/bin/sh
case "$*" in *--login*) touch {began}; sleep 5;; esac
exec /usr/sbin/iscsiadm "$@"
"""
CLAIM = {
    "metadata": {"name": "disk", "namespace": "ns", "uid": "c1"},
    "spec": {"volumeName": "pv"},
    "status": {"phase": "Bound"},
}


def printed(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def assert_nothing_is_left() -> None:
    assert printed("iscsiadm", "-m", "session") == ""
    assert PORTAL not in printed("iscsiadm", "-m", "node")
    assert not [name for name in os.listdir("/var/lib/iscsi/ifaces") if name.startswith("127.")]
    tops = (ROOT / "pods", ROOT / "plugins")
    files = [f"{folder}/{name}" for top in tops for folder, _, names in os.walk(top) for name in names]
    assert not files, files
    points = [mount.point for mount in mountinfo.read_below(str(ROOT)) if mount.point != f"{ROOT}/pods"]
    assert not points, points


class DiskNode:
    """`spec`: of the PersistentVolume."""

    def __init__(self, name: str = NAME, **spec: Any) -> None:
        attached = {"volumesInUse": [name], "volumesAttached": [{"name": name, "devicePath": ""}]}
        self.objects: dict[str, Any] = {
            "/api/v1/namespaces/ns/persistentvolumeclaims/disk": CLAIM,
            "/api/v1/persistentvolumes/pv": {"metadata": {"name": "pv"}, "spec": {"claimRef": {"uid": "c1"}, **spec}},
            "/api/v1/nodes/n1": {"status": attached},
        }
        agent = Agent(root_dir=str(ROOT), run_dir=f"{ROOT}/run", workers=1, standalone=False, node_name="n1")
        self.manager = Harness(VolumeManager, name="volume_manager", context=agent)
        self.manager.answer(GetNodeResources, AskError("nobody"))
        self.manager.answer(ApiCall, self._answer)

    def _answer(self, call: ApiCall) -> ApiAnswer:
        found = self.objects.get(call.path)
        return ApiAnswer(status=200 if found else 404, body=json.dumps(found).encode())

    async def mount(self, uid: str, use: str = "volumeMounts", **spec: Any) -> VolumesMounted | VolumesFailed:
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]
        user = {"name": "c", use: [{"name": "v", "mountPath": "/v", "devicePath": "/dev/v"}]}
        meta = {"name": uid, "namespace": "ns", "uid": uid}
        body = {"metadata": meta, "spec": {"volumes": volumes, "containers": [user], **spec}}
        answer = await self.manager.deliver(MountVolumes(uid, json.dumps(body).encode()), timeout=SECONDS)
        assert isinstance(answer, VolumesMounted | VolumesFailed)
        return answer

    async def mounted(self, uid: str, use: str = "volumeMounts", **spec: Any) -> Path:
        answer = await self.mount(uid, use, **spec)
        assert isinstance(answer, VolumesMounted), answer
        return Path(answer.paths["v"])

    async def unmounted(self, uid: str) -> None:
        assert await self.manager.deliver(UnmountVolumes(uid), timeout=SECONDS) == VolumesUnmounted(uid)
        await self.manager.settle()


async def shared() -> None:
    """Formatted once, mounted once for two pods, detached after the last, whole the next time."""
    node = DiskNode(iscsi=SOURCE, mountOptions=["noatime"])
    async with node.manager:
        one = await node.mounted("one", securityContext={"fsGroup": 1234})
        (one / "f").write_text("kept")
        assert one.stat().st_gid == 1234
        two = await node.mounted("two")
        assert (two / "f").read_text() == "kept"
        (mount,) = mountinfo.at(str(one))
        assert (mount.kind, "noatime" in mount.options) == ("ext4", True)
        assert printed("iscsiadm", "-m", "session").count(IQN) == 1
        await node.unmounted("one")
        assert printed("iscsiadm", "-m", "session").count(IQN) == 1
        await node.unmounted("two")
        assert_nothing_is_left()
        assert ((await node.mounted("three")) / "f").read_text() == "kept"
        await node.unmounted("three")


async def device() -> None:
    """A device of the containers is the disk itself."""
    node = DiskNode(iscsi=SOURCE, volumeMode="Block")
    async with node.manager:
        link = await node.mounted("one", "volumeDevices")
        assert link.is_block_device()
        assert str(link.readlink()) == f"/dev/disk/by-path/ip-{PORTAL}-iscsi-{IQN}-lun-0"
        await node.unmounted("one")


async def chap() -> None:
    """The target lets in who knows the secret, and no other."""
    for name, value in (("auth/userid", "me"), ("auth/password", "secret-of-twelve"), ("attrib/authentication", "1")):
        Path(TARGET, name).write_text(value)
    node = DiskNode(iscsi={**SOURCE, "chapAuthSession": True, "secretRef": {"name": "s", "namespace": "ns"}})
    data = {"node.session.auth.username": "bWU=", "node.session.auth.password": "d3Jvbmc="}
    node.objects["/api/v1/namespaces/ns/secrets/s"] = {"data": data}
    try:
        async with node.manager:
            answer = await node.mount("one")
            assert isinstance(answer, VolumesFailed)
            assert "authorization failure" in answer.message, answer
            data["node.session.auth.password"] = "c2VjcmV0LW9mLXR3ZWx2ZQ=="
            await node.mounted("one")
            await node.unmounted("one")
    finally:
        Path(TARGET, "attrib/authentication").write_text("0")


async def initiator() -> None:
    """A volume with an initiator of its own has an interface and a session of its own."""
    name = "iqn.2003-01.org.example:me"
    node = DiskNode(iscsi={**SOURCE, "initiatorName": name})
    async with node.manager:
        await node.mounted("one")
        assert f"Iface Initiatorname: {name}" in printed("iscsiadm", "-m", "session", "-P", "1")
        await node.unmounted("one")


async def several_portals() -> None:
    """Without multipathd the first path is taken; all are logged out of."""
    node = DiskNode(iscsi={**SOURCE, "portals": ["127.0.0.2"]})
    async with node.manager:
        await node.mounted("one")
        assert printed("iscsiadm", "-m", "session").count(IQN) == 2
        await node.unmounted("one")
    assert printed("iscsiadm", "-m", "node") == ""


async def killed() -> None:
    """The login of an agent that was killed is undone when the pod goes."""
    node = DiskNode(iscsi=SOURCE)
    node.manager.disposables["actors.volume_manager.host.iscsi_attach:attach"] = lambda **_: ["", "dies here"]
    async with node.manager:
        assert isinstance(await node.mount("one"), VolumesFailed)
    slow, began = ROOT / "bin/iscsiadm", ROOT / "began"
    slow.parent.mkdir(exist_ok=True)
    slow.write_text(SLOW_LOGIN.format(began=began))
    slow.chmod(0o755)
    code = (
        "from actors.volume_manager.host.iscsi_attach import attach\n"
        f"attach({{'portals': [{PORTAL!r}], 'iqn': {IQN!r}, 'lun': 0, 'volume': 'pv', 'plugin': 'iscsi'}}, {{}}, 60.0)"
    )
    path = f"{slow.parent}:{os.environ['PATH']}"
    agent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PATH": path})
    end = time.monotonic() + SECONDS
    while not began.exists():
        assert time.monotonic() < end
        assert agent.poll() is None
        time.sleep(0.1)
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    began.unlink()
    node = DiskNode(iscsi=SOURCE)
    async with node.manager:
        await node.unmounted("one")


async def fibre_channel() -> None:
    """A disk that is found by its identifier is taken out of the SCSI subsystem, and found again by a rescan."""
    (link,) = (name for name in os.listdir("/dev/disk/by-id") if name.startswith("scsi-3"))
    wwid = link.removeprefix("scsi-")
    node = DiskNode(f"kubernetes.io/fc/[{wwid}]", fc={"wwids": [wwid]})
    async with node.manager:
        ((await node.mounted("one")) / "f").write_text("kept")
        await node.unmounted("one")
        assert not os.path.exists(f"/dev/disk/by-id/{link}")
        assert ((await node.mounted("two")) / "f").read_text() == "kept"
        await node.unmounted("two")


SCENARIOS: dict[str, Callable[[], Awaitable[None]]] = {
    one.__name__: one for one in (shared, device, chap, initiator, several_portals, killed, fibre_channel)
}


async def main() -> None:
    ROOT.mkdir(exist_ok=True)
    await SCENARIOS[sys.argv[1]]()
    assert_nothing_is_left()


if __name__ == "__main__":
    asyncio.run(main())
