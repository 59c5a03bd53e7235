"""Files from objects of the API, from tokens and from the pod's own fields: secret, configMap and projected volumes."""

from __future__ import annotations

import asyncio
import os
from typing import ClassVar

from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import VolumeProjection
from actors.shared.linux.confined_paths import UnsafePathError
from actors.volume_manager.files import atomic, mount_points, projections
from actors.volume_manager.files.content_error import ContentError
from actors.volume_manager.files.downward_fields import DEFAULT_MODE
from actors.volume_manager.files.projections import Content
from actors.volume_manager.host.directories import make_directory
from actors.volume_manager.pod_certificates.certificates import GATE_OFF
from actors.volume_manager.pod_certificates.states import PodCredentials
from actors.volume_manager.tools.volume_tools import VolumeTools
from supervision.errors import error_text

from .base import ApiInputs, Mounter

_MODE = 0o777


class ApiFiles(Mounter, frozen=True, kw_only=True):
    """Secrets and tokens are kept in memory, config maps on disk, as in the kubelet."""

    refreshed: ClassVar[bool] = True
    group: int | None = None
    sources: list[VolumeProjection]
    mode: int
    """The mode of files, unless the spec sets another one."""
    size: int | None = None
    """Bytes of memory, 0 for no limit; None: on disk."""

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        async with tools.api.room(projections.objects_of(pod.metadata.namespace, self.sources)):
            return await self._write(pod, tools)

    async def _write(self, pod: Pod, tools: VolumeTools) -> str:
        try:
            files = projections.files(pod, self.sources, self.mode, await self._content(pod, tools))
        except ContentError as error:
            return str(error)
        if self.size is not None and (problem := tools.memory.mount(self.path, self.size, self.group)):
            return problem
        try:
            if self.size is None:
                make_directory(self.path, _MODE, self.group)
            points = mount_points.nested(pod, self.volume)
            await atomic.write(self.path, files, f"..{tools.stamp()}", self.group, points)
        except (OSError, UnsafePathError) as error:
            return error_text(error)
        return ""

    def inputs(self, pod: Pod) -> ApiInputs:
        return ApiInputs(
            frozenset(projections.objects_of(pod.metadata.namespace, self.sources)),
            frozenset(projections.tokens_of(pod, self.sources)),
            bool(projections.bundles_of(self.sources)),
            bool(projections.certificates_of(self.sources)),
        )

    def is_filled(self) -> bool:
        return os.path.isdir(f"{self.path}/{atomic.DATA}")

    async def _content(self, pod: Pod, tools: VolumeTools) -> Content:
        """Raises ContentError."""
        refs = projections.objects_of(pod.metadata.namespace, self.sources)
        requests = projections.tokens_of(pod, self.sources)
        queries = projections.bundles_of(self.sources)
        indexes = projections.certificates_of(self.sources)
        objects, tokens, bundles, certificates = await asyncio.gather(
            tools.api.all_of(refs),
            asyncio.gather(*map(tools.api.tokens.get, requests)),
            asyncio.gather(*map(tools.api.trust_bundles, queries)),
            asyncio.gather(*(self._certificate(pod, index, tools) for index in indexes)),
        )
        has_downward = any(source.downwardAPI is not None for source in self.sources)
        return Content(
            objects,
            dict(zip(requests, tokens, strict=True)),
            await tools.allocatable.resources() if has_downward else {},
            dict(zip(queries, bundles, strict=True)),
            tools.api.order,
            dict(zip(indexes, certificates, strict=True)),
        )

    async def _certificate(self, pod: Pod, index: int, tools: VolumeTools) -> PodCredentials:
        if tools.certificates is None:
            return PodCredentials(error=GATE_OFF)
        return await tools.certificates.credentials(pod, self.volume, index, self.sources[index])


def file_mode(given: int | None) -> int:
    """`given`: the source's defaultMode."""
    return DEFAULT_MODE if given is None else given
