"""Reads manifests of files and of the URL. A large one is read in a disposable process, which delays no message."""

from __future__ import annotations

import os
from typing import Any, Final

from actors.shared.config.agent import Agent
from actors.shared.kube.names import SOURCE_FILE, SOURCE_HTTP
from supervision.actor import Actor, DisposableError

from ..validation.errors import document_error
from .manifest import Origin, StaticPod, from_process, read_in_process, read_manifest

LARGE_BYTES: Final = 64 << 10
PARSE_SECONDS: Final = 60.0
"""The deadline of a disposable process that reads a large manifest."""


class ManifestReader:
    """Reads manifests for one node."""

    def __init__(self, actor: Actor, agent: Agent) -> None:
        self._actor, self._node, self._url = actor, agent.node_name, agent.config.staticPodURL
        self._allow_references = not agent.gate("PreventStaticPodAPIReferences")

    def file_origin(self, path: str) -> Origin:
        return Origin(SOURCE_FILE, path, self._node, self._allow_references)

    async def read_large_file(self, path: str) -> list[StaticPod]:
        """Raises ManifestError."""
        return await self._read_in_process(path, b"", self.file_origin(path))

    async def read_answer(self, body: bytes) -> list[StaticPod]:
        """The pods of an answer of the URL; an empty one has none. Raises ManifestError."""
        origin = Origin(SOURCE_HTTP, self._url, self._node, self._allow_references)
        if len(body) > LARGE_BYTES:
            return await self._read_in_process("", body, origin)
        return read_manifest(body, origin) if body else []

    async def _read_in_process(self, path: str, data: bytes, origin: Origin) -> list[StaticPod]:
        # as bytes: the name of a file may be no text
        fields = [origin.source, os.fsencode(origin.place), origin.node, origin.allow_references]
        arguments: dict[str, Any] = {"path": os.fsencode(path), "data": data, "origin": fields}
        function = f"{read_in_process.__module__}:{read_in_process.__name__}"
        try:
            return from_process(await self._actor.disposable(function, arguments, deadline=PARSE_SECONDS))
        except DisposableError as error:
            raise document_error(f"cannot be read: {error}") from None
