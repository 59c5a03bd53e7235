"""image: the files of an image, mounted by the runtime."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import Volume
from actors.volume_manager.tools.volume_tools import VolumeTools

from .base import Mounter, Plan, PodContext, VolumeType


class ImageVolume(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = "kubernetes.io/image"

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        return ""


def _plan(volume: Volume, context: PodContext) -> Plan:
    return ImageVolume(volume=volume.name)


TYPE: Final = VolumeType(source="image", plan=_plan)
