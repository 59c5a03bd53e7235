"""Tells the runtime the pods' network, which may fill in a template of its CNI configuration with it."""

from __future__ import annotations

import logging

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unimplemented


class PodNetworkSetting:
    """Remembers what the runtime has accepted."""

    def __init__(self, client: CriClient, log: logging.Logger) -> None:
        self._client, self._log = client, log
        self._accepted = ""

    async def apply(self, cidr: str) -> None:
        """Tell the runtime, unless it has accepted this already. A failure is logged: the caller comes again."""
        if cidr == self._accepted:
            return
        try:
            await self._client.update_runtime_config(cidr)
        except Unimplemented:
            self._log.info("the runtime does not take the pods' network %s", cidr)
        except CriError as error:
            self._log.warning("the runtime is not told the pods' network %s: %s", cidr, error)
            return
        else:
            self._log.info("the runtime is told the pods' network: %s", cidr)
        self._accepted = cidr
