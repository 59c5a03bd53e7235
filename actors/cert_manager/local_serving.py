"""The serving pair of a node whose cluster does not sign it: the operator's files, or a self-signed pair."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError

from .certificate import Certificate
from .rotation import ended
from .serving_plan import Verdict, judge, subject_names

WORK_SECONDS: Final = 20.0


class OwnServing:
    """Brings about a usable pair in the files that the configuration names."""

    def __init__(self, actor: Actor, agent: Agent, wall: Callable[[], float] = time.time) -> None:
        self._actor, self._agent, self._wall = actor, agent, wall
        self.files = (agent.serving_cert_file, agent.serving_key_file)
        self.certificate: Certificate | None = None
        self._complaint = ""

    async def settle(self) -> bool:
        """Make, keep, or complain. False: there is none that can be used (said once; tried again at the next look)."""
        agent, (pair, reason) = self._agent, await self._load()
        names = subject_names(agent.node_name, agent.node_ip, _addresses())
        verdict = judge(pair, given=agent.serving_cert_given, wanted=names, now=self._wall())
        if verdict is Verdict.BROKEN:
            return self._complain(f"{self.files[0]}, {self.files[1]}: {reason}")
        if verdict is Verdict.MAKE:
            order = {"cert_file": self.files[0], "key_file": self.files[1], "host": agent.node_name, "names": names}
            try:
                await self._actor.disposable("actors.cert_manager.self_signed:create", order, deadline=WORK_SECONDS)
            except DisposableError as error:
                return self._complain(f"cannot make a serving certificate in {agent.cert_dir}: {error}")
            self._actor.log.info("made a self-signed serving certificate in %s", agent.cert_dir)
            pair, reason = await self._load()
        self.certificate, self._complaint = pair, ""
        if pair is not None and ended(pair, self._wall()):
            self._actor.log.warning(
                "%s: the serving certificate has ended: clients that check it refuse it", self.files[0]
            )
        return True

    @property
    def complains(self) -> bool:
        return bool(self._complaint)

    async def _load(self) -> tuple[Certificate | None, str]:
        """In a process of its own: what OpenSSL makes for a first look at a key would stay with this one."""
        order = {"cert_file": self.files[0], "key_file": self.files[1]}
        try:
            found = await self._actor.disposable(
                "actors.cert_manager.certificate_store:look_at_pair", order, deadline=WORK_SECONDS
            )
        except DisposableError as error:
            return None, error.text
        return msgspec.convert(found, Certificate), ""

    def _complain(self, text: str) -> bool:
        if text != self._complaint:
            self._actor.log.error("%s", text)
        self._complaint = text
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
