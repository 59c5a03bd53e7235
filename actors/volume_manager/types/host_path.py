"""hostPath: a file or directory of the host."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import HOST_PATH_TYPES, HostPathVolumeSource, Volume
from actors.volume_manager.persistent_volumes.volume_claims import (
    ClaimedVolume,
    checked_path,
)
from actors.volume_manager.tools.volume_tools import VolumeTools

from .base import Mounter, Plan, PodContext, RejectedVolume, VolumeType, without_options

CHECK: Final = "actors.volume_manager.host.host_path:check_host_path"


class HostPath(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = "kubernetes.io/host-path"
    follows_link: ClassVar[bool] = True
    kind: str = ""
    """The source's `type`; '': not checked."""

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        if not self.kind:
            return ""
        return await tools.calls.run(self.path, CHECK, {"path": self.path, "type": self.kind}, str)


def _plan(volume: Volume, context: PodContext) -> Plan:
    source, name = volume.hostPath or HostPathVolumeSource(path=""), volume.name
    kind = source.type or ""
    if kind and kind not in HOST_PATH_TYPES:
        return RejectedVolume(name, f"volume {name!r}: unknown hostPath type {kind!r}")
    if not source.path.startswith("/") or "\0" in source.path:
        return RejectedVolume(name, f"volume {name!r}: hostPath {source.path!r} must be absolute")
    if ".." in source.path.split("/"):
        return RejectedVolume(name, f"volume {name!r}: hostPath {source.path!r} must not contain '..'")
    return HostPath(volume=name, path=source.path, kind=kind)


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    if (refused := without_options(claimed)) is not None:  # nothing is mounted here
        return refused
    source = claimed.persistent.spec.hostPath or HostPathVolumeSource(path="")
    return HostPath(volume=claimed.volume, path=checked_path(claimed, source.path), kind=source.type or "")


TYPE: Final = VolumeType(source="hostPath", plan=_plan, plan_claim=_plan_claim)
