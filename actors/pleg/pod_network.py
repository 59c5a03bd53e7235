"""Tells the runtime the pods' network, which may fill in a template of its CNI configuration with it."""

from __future__ import annotations

import logging

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unimplemented


class PodNetworkSetting:
    """Remembers the CIDR that the runtime has accepted."""

    def __init__(self, client: CriClient, log: logging.Logger) -> None:
        self._client, self._log = client, log
        self._accepted = self._logged = ""

    def forget_accepted(self) -> None:
        """The runtime has lost it: the next `apply` sends it again."""
        self._accepted = ""

    async def apply(self, cidr: str) -> None:
        """Tell the runtime, unless it has accepted this already. A failure is logged: the caller comes again."""
        if cidr == self._accepted:
            return
        text = "the runtime is told the pods' network: %s"
        try:
            await self._client.update_runtime_config(cidr)
        except Unimplemented:
            text = "the runtime does not take the pods' network %s"
        except CriError as error:
            self._log.warning("the runtime is not told the pods' network %s: %s", cidr, error)
            return
        if cidr != self._logged:
            self._log.info(text, cidr)
        self._accepted = self._logged = cidr
