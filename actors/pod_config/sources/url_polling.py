"""Asks the static pod URL for its manifests, each httpCheckFrequency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.shared.config.agent import Agent
from supervision.actor import Actor

from ..manifests.manifest_reader import ManifestReader
from ..validation.errors import ManifestError
from .http_source import FetchError, UrlSource, fetch

QUIET_AFTER: Final = 3
"""The number of consecutive errors after which errors of the URL are logged at debug level."""


class UrlPolling:
    """Keeps a UrlSource up to date."""

    def __init__(
        self, actor: Actor, agent: Agent, source: UrlSource, reader: ManifestReader, changed: Callable[[], None]
    ) -> None:
        """`changed` is called when a pod or an error may have changed."""
        self._actor, self._source, self._reader, self._changed = actor, source, reader, changed
        self._frequency = float(agent.config.httpCheckFrequency)
        self._headers = agent.config.staticPodURLHeader

    def start(self) -> None:
        self._actor.every(self._frequency, self._ask, immediately=True)

    async def _ask(self) -> None:
        source = self._source
        try:
            body = await fetch(source.url, self._headers)
            if source.is_new(body):
                source.answered(body, await self._reader.read_answer(body))
            else:
                source.unchanged()
        except (FetchError, ManifestError) as error:
            source.failed(error)
            log = self._actor.log.warning if source.failures <= QUIET_AFTER else self._actor.log.debug
            log("static pods from a URL: %s", "; ".join(source.errors))
        self._changed()
