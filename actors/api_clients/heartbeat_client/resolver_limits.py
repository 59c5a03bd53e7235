"""Tells users when the host's resolv.conf leaves no room for the search domains of pods."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from actors.api_clients.event_client.messages import RecordEvent, node_event
from actors.shared.config.agent import Agent
from actors.shared.linux.resolv_conf import exceeded
from supervision.errors import error_reason

SECONDS: Final = 30.0
LONGEST: Final = 10 << 20
"""Bytes of the file that are read."""
REASON: Final = "CheckLimitsForResolvConf"


class ResolverLimits:
    """The file is read again when it has changed; its problem is reported each time."""

    def __init__(self, agent: Agent, record: Callable[[RecordEvent], None]) -> None:
        self._agent, self._record = agent, record
        self._path = agent.config.resolvConf
        self._changed_at = 0
        self._problem = ""

    def check(self) -> None:
        if not self._path:
            return
        try:
            changed = os.stat(self._path).st_mtime_ns
            if changed != self._changed_at:
                self._problem, self._changed_at = self._read(), changed
        except OSError as error:
            self._problem, self._changed_at = f"open {self._path}: {error_reason(error).lower()}", 0
        if self._problem:
            self._record(node_event(self._agent.node_name, REASON, self._problem, "Warning"))

    def _read(self) -> str:
        """Raises OSError."""
        with Path(self._path).open(errors="replace") as file:
            text = file.read(LONGEST)
        return exceeded(self._path, text, cluster_domain=bool(self._agent.config.clusterDomain))
