"""The serving pair of a node whose cluster does not sign one: the operator's files, or a self-signed pair."""

from __future__ import annotations

import socket
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError

from .certificate import Certificate
from .clocks import CertificateClocks
from .rotation import ended
from .serving_plan import ServingPairAction, check, subject_names

WORK_SECONDS: Final = 20.0


class LocalServing:
    """Checks the pair in the configured files, and creates a self-signed one where it may."""

    def __init__(self, actor: Actor, agent: Agent, clocks: CertificateClocks) -> None:
        self._actor, self._agent, self._clocks = actor, agent, clocks
        self.files = (agent.serving_cert_file, agent.serving_key_file)
        self.certificate: Certificate | None = None
        self._problem = ""

    async def settle(self) -> bool:
        """Check or create the pair. False when none is usable; this is logged once, and retried at the next check."""
        agent, (pair, reason) = self._agent, await self._load()
        names = subject_names(agent.node_name, agent.node_ip, _addresses())
        action = check(pair, given=agent.serving_cert_given, required=names, now=self._clocks.wall())
        if action is ServingPairAction.BROKEN:
            return self._fail(f"{self.files[0]}, {self.files[1]}: {reason}")
        if action is ServingPairAction.MAKE:
            arguments = {"cert_file": self.files[0], "key_file": self.files[1], "host": agent.node_name, "names": names}
            try:
                await self._actor.disposable("actors.cert_manager.self_signed:create", arguments, deadline=WORK_SECONDS)
            except DisposableError as error:
                return self._fail(f"cannot create a serving certificate in {agent.cert_dir}: {error}")
            self._actor.log.info("created a self-signed serving certificate in %s", agent.cert_dir)
            pair, reason = await self._load()
        self.certificate, self._problem = pair, ""
        if pair is not None and ended(pair, self._clocks.wall()):
            self._actor.log.warning(
                "%s: the serving certificate has expired: clients that verify it refuse the connection", self.files[0]
            )
        return True

    @property
    def failed(self) -> bool:
        """Whether the last check found no usable pair."""
        return bool(self._problem)

    async def _load(self) -> tuple[Certificate | None, str]:
        """Read the pair in a disposable process: the memory of OpenSSL would stay allocated in this one."""
        arguments = {"cert_file": self.files[0], "key_file": self.files[1]}
        try:
            fields = await self._actor.disposable(
                "actors.cert_manager.certificate_store:read_pair", arguments, deadline=WORK_SECONDS
            )
        except DisposableError as error:
            return None, error.text
        return msgspec.convert(fields, Certificate), ""

    def _fail(self, text: str) -> bool:
        if text != self._problem:
            self._actor.log.error("%s", text)
        self._problem = text
        return False


def _addresses() -> list[str]:
    """The addresses of this host that clients may use: the source address of the default route, per family."""
    addresses = []
    for family, probe in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        # a UDP connect sends nothing; it only makes the kernel choose a source address (documentation prefixes)
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            try:
                sock.connect((probe, 9))
            except OSError:
                continue
            addresses.append(sock.getsockname()[0])
    return addresses
