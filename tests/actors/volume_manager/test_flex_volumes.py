"""FlexVolume: pods' volumes that a driver, a real program here, mounts and unmounts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import mount_propagation
from actors.volume_manager.messages import (
    MountVolumes,
    UnmountVolumes,
    VolumesFailed,
    VolumesMounted,
    VolumesUnmounted,
)
from supervision.testing.harness import Harness
from tests.support.volumes import user_of

UID = "0a1b"
CANNOT_ATTACH = '{"status": "Success", "capabilities": {"attach": false}}'
SUCCESS = '{"status": "Success"}'
MOUNTS = f"mount) touch \"$2/data\"; echo '{SUCCESS}';;"
UNMOUNTS = f"unmount) rm -f \"$2/data\"; echo '{SUCCESS}';;"


class Node:
    """A volume manager with a directory of drivers."""

    def __init__(self, root: Path) -> None:
        self.root, self.calls = root, root / "calls"
        self.calls.write_text("")
        (root / "drivers").mkdir()
        config = KubeletConfiguration(volumePluginDir=f"{root}/drivers")
        agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=1, config=config, kubeconfig="/k")
        self.manager = Harness(VolumeManager, name="volume_manager", context=agent)

    def install(self, *cases: str, init: str = CANNOT_ATTACH, name: str = "acme~disk") -> Path:
        """Install a driver. `cases`: what it does for each command, as in a shell's `case`."""
        program = self.root / "drivers" / name / name.rpartition("~")[2]
        program.parent.mkdir(exist_ok=True)
        lines = "\n".join([f"init) echo '{init}';;", *cases, """*) echo '{"status": "Not supported"}'; exit 1;;"""])
        logged = f'printf "%s\\n" "$*" >> {self.calls}'
        program.write_text(f'#!/bin/sh\n{logged}\ncase "$1" in\n{lines}\nesac\n')
        program.chmod(0o755)
        return program

    @property
    def called(self) -> list[str]:
        """The commands, in their order."""
        return [line.split(" ")[0] for line in self.calls.read_text().splitlines()]

    @property
    def options(self) -> dict[str, str]:
        """Those of the last mount."""
        (line,) = [line for line in self.calls.read_text().splitlines() if line.startswith("mount ")][-1:]
        found: dict[str, str] = json.loads(line.split(" ", 2)[2])
        return found


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
    return Node(tmp_path)


def mount_of(source: dict[str, Any], **spec: Any) -> MountVolumes:
    volume = {"name": "v", "flexVolume": {"driver": "acme/disk", **source}}
    meta = {"name": "p", "namespace": "ns", "uid": UID}
    pod = {"volumes": [volume], "containers": [user_of([volume])], "serviceAccountName": "robot", **spec}
    return MountVolumes(UID, json.dumps({"metadata": meta, "spec": pod}).encode())


async def failure(node: Node, source: dict[str, Any] | None = None) -> str:
    async with node.manager as manager:
        answer = await manager.deliver(mount_of(source or {}))
    assert isinstance(answer, VolumesFailed)
    event = (answer.events or [])[0]
    assert event.reason == "FailedMount"
    return event.text


async def test_the_driver_mounts_the_volume_and_unmounts_it_at_the_end(node: Node) -> None:
    node.install(MOUNTS, UNMOUNTS)
    path = node.root / "pods" / UID / "volumes/acme~disk/v"
    async with node.manager as manager:
        assert await manager.deliver(mount_of({})) == VolumesMounted(UID, {"v": str(path)})
        assert (path / "data").exists()
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
    assert node.called == ["init", "mount", "unmount"]
    assert not path.parent.parent.exists()


async def test_the_driver_is_told_of_the_volume_and_its_pod(node: Node) -> None:
    node.install(MOUNTS)
    async with node.manager as manager:
        await manager.deliver(mount_of({"fsType": "xfs", "readOnly": True, "options": {"size": "1G"}}))
    assert node.options == {
        "kubernetes.io/fsType": "xfs",
        "kubernetes.io/readwrite": "ro",
        "kubernetes.io/pvOrVolumeName": "v",
        "kubernetes.io/pod.name": "p",
        "kubernetes.io/pod.namespace": "ns",
        "kubernetes.io/pod.uid": UID,
        "kubernetes.io/serviceAccount.name": "robot",
        "size": "1G",
    }


async def test_the_driver_gets_the_values_of_a_secret_of_its_own_type(node: Node) -> None:
    node.install(MOUNTS)
    body = msgspec.json.encode({"type": "acme/disk", "data": {"key": "c2VjcmV0"}})
    paths = list[str]()

    def answer(call: ApiCall) -> ApiAnswer:
        paths.append(call.path)
        return ApiAnswer(status=200, body=body)

    node.manager.answer(ApiCall, answer)
    async with node.manager as manager:
        await manager.deliver(mount_of({"secretRef": {"name": "s"}}))
    assert paths == ["/api/v1/namespaces/ns/secrets/s"]
    assert node.options["kubernetes.io/secret/key"] == "c2VjcmV0"


async def test_a_secret_of_another_type_is_not_given_to_the_driver(node: Node) -> None:
    node.install(MOUNTS)
    body = msgspec.json.encode({"type": "Opaque", "data": {"key": "c2VjcmV0"}})
    node.manager.answer(ApiCall, ApiAnswer(status=200, body=body))
    text = "couldn't get secret ns/s err: cannot get secret of type acme/disk"
    assert text in await failure(node, {"secretRef": {"name": "s"}})
    assert node.called == ["init"]


@pytest.mark.parametrize(("fs_group", "seen"), [("true", os.getgid()), ("false", None)])
async def test_the_files_are_given_to_the_fs_group_unless_the_driver_does_that(
    node: Node, fs_group: str, seen: int | None
) -> None:
    group = os.getgid()
    node.install(MOUNTS, init=f'{{"status": "Success", "capabilities": {{"attach": false, "fsGroup": {fs_group}}}}}')
    async with node.manager as manager:
        answer = await manager.deliver(mount_of({}, securityContext={"fsGroup": group}))
    assert isinstance(answer, VolumesMounted)
    assert node.options["kubernetes.io/mounterArgs.FsGroup"] == str(group)
    mode = os.stat(answer.paths["v"]).st_mode
    assert bool(mode & 0o2000) == (seen is not None), "files in it belong to the group of the directory"


async def test_a_driver_that_is_installed_later_is_found(node: Node) -> None:
    async with node.manager as manager:
        answer = await manager.deliver(mount_of({}))
        assert isinstance(answer, VolumesFailed)
        assert "no volume plugin matched: driver acme/disk is not in" in str(answer.events)
        node.install(MOUNTS)
        assert isinstance(await manager.deliver(mount_of({})), VolumesMounted)


async def test_a_driver_that_was_replaced_is_asked_again_what_it_can_do(node: Node) -> None:
    node.install(MOUNTS, init=SUCCESS)
    async with node.manager as manager:
        answer = await manager.deliver(mount_of({}))
        assert isinstance(answer, VolumesFailed), "it wants its volumes attached"
        node.install(MOUNTS)
        assert isinstance(await manager.deliver(mount_of({})), VolumesMounted)
        assert isinstance(await manager.deliver(mount_of({})), VolumesMounted)
    assert node.called == ["init", "init", "mount", "mount"]


async def test_a_driver_that_wants_its_volumes_attached_is_refused_by_name(node: Node) -> None:
    node.install(MOUNTS, init=SUCCESS)
    assert "driver acme/disk: this agent attaches no volumes of FlexVolume drivers" in await failure(node)
    assert node.called == ["init"]


@pytest.mark.parametrize(
    ("does", "text"),
    [
        ("""echo '{"status": "Failure", "message": "no such disk"}'; exit 1""",
         "mount command failed, status: Failure, reason: no such disk"),
        ("""echo '{"status": "Failure", "message": "no such disk"}'""", "reason: no such disk"),
        ("""echo '{"status": "Success"}'; exit 3""", "exit status 3, though its answer is Success"),
        ("echo Segmentation fault >&2; exit 139", "exit status 139, no answer: 'Segmentation fault'"),
        ("""echo '{"status": "Not supported"}'; exit 1""", "mount command is not supported by the driver"),
    ],
)  # fmt: skip
async def test_a_mount_that_fails_says_what_the_driver_said_and_leaves_nothing(
    node: Node, does: str, text: str
) -> None:
    node.install(f"mount) {does};;")
    assert text in await failure(node)
    assert not (node.root / "pods" / UID / "volumes/acme~disk/v").exists()


async def test_a_pod_does_not_end_while_the_driver_cannot_unmount(node: Node) -> None:
    node.install(MOUNTS, """unmount) echo '{"status": "Failure", "message": "in use"}'; exit 1;;""")
    async with node.manager as manager:
        await manager.deliver(mount_of({}))
        answer = await manager.deliver(UnmountVolumes(UID))
        assert isinstance(answer, VolumesFailed)
        assert "in use" in str(answer)
        node.install(MOUNTS, UNMOUNTS)
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)


async def test_a_pod_ends_though_its_driver_was_removed(node: Node) -> None:
    program = node.install(MOUNTS, UNMOUNTS)
    async with node.manager as manager:
        await manager.deliver(mount_of({}))
        program.unlink()
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)


@pytest.mark.parametrize("name", ["../../bin/sh", "a/b/c", "/", "acme/..", "-x"])
async def test_a_name_that_leads_out_of_the_directory_of_drivers_is_refused(node: Node, name: str) -> None:
    async with node.manager as manager:
        answer = await manager.deliver(mount_of({"driver": name}))
    assert isinstance(answer, VolumesFailed)
    assert "is not the name of a FlexVolume driver" in str(answer)
