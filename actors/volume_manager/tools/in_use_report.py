"""Reports the attached volumes that are in use on this node: the attach controller must not detach them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, VolumesInUse
from supervision.actor import Actor
from supervision.errors import error_text
from supervision.repeated_warnings import RepeatedWarnings


class InUseReport:
    """`joined`: the node has an API server."""

    def __init__(self, actor: Actor, *, joined: bool = True) -> None:
        self._actor, self._joined = actor, joined
        self._sources: list[Callable[[], Iterable[str]]] = []
        self._warnings = RepeatedWarnings(actor.log)

    def add(self, source: Callable[[], Iterable[str]]) -> None:
        """`source` returns unique names of volumes, and raises OSError when it cannot see them."""
        self._sources.append(source)

    def tell(self) -> None:
        """Those that were reported stay while a record cannot be read."""
        if not self._joined:
            return
        try:
            names = sorted({name for source in self._sources for name in source()})
        except OSError as error:
            self._warnings.warn("in use", f"volumes in use are reported later: {error_text(error)}")
            return
        self._warnings.resolved("in use")
        self._actor.tell(HEARTBEAT_CLIENT, VolumesInUse(names), deadline=30.0)
