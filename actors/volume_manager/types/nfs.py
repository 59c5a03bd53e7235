"""nfs: a directory of an NFS server, mounted by the node's mount program."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import NFSVolumeSource, Volume
from actors.volume_manager.persistent_volumes.volume_claims import (
    ClaimedVolume,
    VolumeClaimError,
    checked_name,
    mount_options,
)
from actors.volume_manager.tools.system_calls import MOUNT_SECONDS
from actors.volume_manager.tools.volume_tools import VolumeTools

from .base import Mounter, Plan, PodContext, RejectedVolume, VolumeType

PLUGIN: Final = "kubernetes.io/nfs"
PROGRAM_SECONDS: Final = MOUNT_SECONDS - 2.0
"""The mount program's time: it is killed before the disposable process that waits for it."""
_MOUNT: Final = "actors.volume_manager.host.mount_program:mount_by_program"


class Nfs(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN
    export: str
    """As mount takes it: server:/directory."""
    options: list[str] = []

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        arguments = {
            "source": self.export,
            "target": self.path,
            "kind": "nfs",
            "options": self.options,
            "mounter": tools.mounter,
            "seconds": PROGRAM_SECONDS,
        }
        return await tools.calls.run(self.path, _MOUNT, arguments, str)


def _plan(volume: Volume, context: PodContext) -> Plan:
    source, name = volume.nfs or NFSVolumeSource(server="", path=""), volume.name
    try:
        export = export_of(source)
    except ValueError as error:
        return RejectedVolume(name, f"volume {name!r}: nfs: {error}")
    return Nfs(volume=name, path=context.path(PLUGIN, name), export=export, options=_options([], source.readOnly))


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    volume, name = claimed.persistent, checked_name(claimed)
    source = volume.spec.nfs or NFSVolumeSource(server="", path="")
    try:
        export = export_of(source)
    except ValueError as error:
        raise VolumeClaimError(f"PV {name}: nfs: {error}") from None
    return Nfs(
        volume=claimed.volume,
        path=context.path(PLUGIN, name),
        export=export,
        options=_options(mount_options(volume), source.readOnly or claimed.read_only),
    )


def export_of(source: NFSVolumeSource) -> str:
    """The export as mount takes it. Raises ValueError for a source that mount could read as something else."""
    server, directory = source.server, source.path
    if not server or server.startswith("-") or any(character.isspace() or character == "/" for character in server):
        raise ValueError(f"{server!r} is not the name or address of a server")
    if not directory.startswith("/") or "\0" in directory:
        raise ValueError(f"path {directory!r} must be absolute")
    host = f"[{server}]" if ":" in server and not server.startswith("[") else server
    return f"{host}:{directory}"


def _options(given: list[str], read_only: bool) -> list[str]:
    """The mount options, each once, in the kubelet's order."""
    return sorted({*(["ro"] if read_only else []), *(option for option in given if option)})


TYPE: Final = VolumeType(source="nfs", plan=_plan, plan_claim=_plan_claim)
