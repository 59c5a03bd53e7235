"""A serving pair that the cluster does not sign: the operator's files, or a self-signed pair."""

from __future__ import annotations

import socket
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError

from .certificate import Certificate
from .clocks import Clocks
from .rotation import ended
from .serving_plan import Verdict, check, subject_names

WORK_SECONDS: Final = 20.0


class LocalServing:
    """Sees to a usable pair in the files that the configuration names."""

    def __init__(self, actor: Actor, agent: Agent, clocks: Clocks) -> None:
        self._actor, self._agent, self._clocks = actor, agent, clocks
        self.files = (agent.serving_cert_file, agent.serving_key_file)
        self.certificate: Certificate | None = None
        self._problem = ""

    async def settle(self) -> bool:
        """Keep or make the pair. False: there is no usable one, which is logged once, and tried at the next look."""
        agent, (pair, reason) = self._agent, await self._load()
        names = subject_names(agent.node_name, agent.node_ip, _addresses())
        verdict = check(pair, given=agent.serving_cert_given, wanted=names, now=self._clocks.wall())
        if verdict is Verdict.BROKEN:
            return self._fail(f"{self.files[0]}, {self.files[1]}: {reason}")
        if verdict is Verdict.MAKE:
            order = {"cert_file": self.files[0], "key_file": self.files[1], "host": agent.node_name, "names": names}
            try:
                await self._actor.disposable("actors.cert_manager.self_signed:create", order, deadline=WORK_SECONDS)
            except DisposableError as error:
                return self._fail(f"cannot make a serving certificate in {agent.cert_dir}: {error}")
            self._actor.log.info("made a self-signed serving certificate in %s", agent.cert_dir)
            pair, reason = await self._load()
        self.certificate, self._problem = pair, ""
        if pair is not None and ended(pair, self._clocks.wall()):
            self._actor.log.warning(
                "%s: the serving certificate has ended: clients that check it refuse it", self.files[0]
            )
        return True

    @property
    def failed(self) -> bool:
        """There was no usable pair when it was looked for last."""
        return bool(self._problem)

    async def _load(self) -> tuple[Certificate | None, str]:
        """In a disposable process: the memory that OpenSSL takes for a first look at a key would stay in this one."""
        order = {"cert_file": self.files[0], "key_file": self.files[1]}
        try:
            found = await self._actor.disposable(
                "actors.cert_manager.certificate_store:look_at_pair", order, deadline=WORK_SECONDS
            )
        except DisposableError as error:
            return None, error.text
        return msgspec.convert(found, Certificate), ""

    def _fail(self, text: str) -> bool:
        if text != self._problem:
            self._actor.log.error("%s", text)
        self._problem = text
        return False


def _addresses() -> list[str]:
    """Addresses of this host that others may call it by: the one its default route leaves from, per family."""
    found = []
    for family, probe in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        # a UDP connect sends nothing; it only makes the kernel choose a source address (documentation prefixes)
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            try:
                sock.connect((probe, 9))
            except OSError:
                continue
            found.append(sock.getsockname()[0])
    return found
