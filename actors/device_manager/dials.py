"""Dials device plugins: a few at a time, those that took long before with permits of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from actors.shared.plugins.model import PluginError
from actors.shared.plugins.registration_permits import SLOW_SECONDS, TOO_SLOW, RegistrationPermits
from actors.shared.plugins.sockets import Stamp, stamp_of
from supervision.actor import Actor

if TYPE_CHECKING:
    from .plugin_client import PluginClient, PluginOptions

MOST_SLOW: Final = 4096
"""The most sockets that are remembered as slow."""
_FAILED: Final = "failed to dial device plugin"


class PluginDials:
    """Dials of all plugins, whichever way they register."""

    def __init__(self, actor: Actor) -> None:
        self._permits = RegistrationPermits(actor)
        self._slow: dict[str, Stamp | None] = {}
        """Stamp of the socket by its path, the oldest first. A new socket at the path has another chance."""

    async def dial(self, client: PluginClient) -> PluginOptions:
        """Connect when it is the client's turn. Raises PluginError."""
        slow, made = self._is_slow(client.path), stamp_of(client.path)
        if slow and self._permits.slow_taken:
            raise PluginError(f"{_FAILED}: it took too long before, and so do others now")
        started_at, options = time.monotonic(), None
        try:
            async with self._permits.permit(slow=slow):
                started_at = time.monotonic()
                if self._is_slow(client.path) and not slow:
                    raise PluginError(f"{_FAILED}: it took too long meanwhile")
                options = await client.connect()
                return options
        except TimeoutError:
            raise PluginError(f"{_FAILED}: {TOO_SLOW}") from None
        finally:
            if options is not None:
                self._slow.pop(client.path, None)
            elif time.monotonic() - started_at > SLOW_SECONDS:
                self._remember(client.path, made)

    def _is_slow(self, path: str) -> bool:
        return path in self._slow and self._slow[path] == stamp_of(path)

    def _remember(self, path: str, made: Stamp | None) -> None:
        self._slow.pop(path, None)
        if len(self._slow) >= MOST_SLOW:
            del self._slow[next(iter(self._slow))]
        self._slow[path] = made
