"""Keeps the node's serving certificate, and tells the servers when it, or the clients' CA, has changed.

Standalone: the operator's files, or a self-signed pair in the certificate directory. Signed ones come with the cluster.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any, cast

from actors.config.agent import Agent
from supervision.actor import Actor, Address, DisposableError, on

from .decide import Verdict, judge, subject_names
from .messages import GetServingCertificate, ServingCertificate

CHECK_SECONDS = 10.0
"""How often the files are looked at, as the reference does."""
JUDGE_SECONDS = 24 * 3600.0
"""How often an unchanged pair is judged again: a self-signed one is renewed before it ends."""
WORK_SECONDS = 20.0
SERVERS = ("http_servers/node_server",)


class CertManager(Actor):
    """Owns the serving pair. Crash-only: everything is in the files."""

    def __init__(self) -> None:
        super().__init__()
        self._version = 0
        self._stamps: tuple[object, ...] = ()
        self._complaint = ""
        self._judged = 0.0

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        self.start_task(self._look(), "look")
        self.every(CHECK_SECONDS, self._look)

    async def on_hello(self, name: str) -> None:
        if self._version:
            self.tell(name, self._current())

    @on(GetServingCertificate)
    def on_get(self, message: GetServingCertificate, sender: Address) -> ServingCertificate | None:
        return self._current()

    def _current(self) -> ServingCertificate:
        agent = self.agent
        ca = agent.config.authentication.x509.clientCAFile
        return ServingCertificate(agent.serving_cert_file, agent.serving_key_file, ca, self._version)

    def _stamp(self) -> tuple[object, ...]:
        current = self._current()
        return tuple(_file_stamp(path) for path in (current.cert_file, current.key_file, current.client_ca_file))

    async def _look(self) -> None:
        """See whether a file changed; make, keep or complain of the pair; tell the servers."""
        now = time.monotonic()
        settled = self._version or self._complaint
        if settled and self._stamp() == self._stamps and now - self._judged < JUDGE_SECONDS:
            return
        self._judged = now
        usable = await self._settle_pair()
        before, self._stamps = self._stamps, self._stamp()
        if not usable or (self._version and before == self._stamps):
            return
        self._version += 1
        for server in SERVERS:
            self.tell(server, self._current())

    async def _settle_pair(self) -> bool:
        """Bring about a usable pair. False when there is none (said once; tried again at the next look)."""
        agent = self.agent
        files = {"cert_file": agent.serving_cert_file, "key_file": agent.serving_key_file}
        pair: dict[str, Any] | None = None
        reason = ""
        try:
            pair = await self.disposable("actors.cert_manager.selfsigned:inspect", files, deadline=WORK_SECONDS)
        except DisposableError as error:
            reason = str(error)
        names = subject_names(agent.node_name, agent.node_ip, _addresses())
        verdict = judge(pair, given=agent.serving_cert_given, wanted=names, now=time.time())
        if verdict is Verdict.BROKEN:
            self._complain(
                f"{files['cert_file']}, {files['key_file']}: {reason or 'the key is not that of the certificate'}"
            )
            return False
        if verdict is Verdict.MAKE:
            order = {**files, "host": agent.node_name, "names": names}
            try:
                pair = await self.disposable("actors.cert_manager.selfsigned:create", order, deadline=WORK_SECONDS)
            except DisposableError as error:
                self._complain(f"cannot make a serving certificate in {agent.cert_dir}: {error}")
                return False
            self.log.info("made a self-signed serving certificate in %s", agent.cert_dir)
        self._complaint = ""
        if pair is not None:
            expiry = pair["not_after"]
            self.metrics.gauge("kubelet_certificate_manager_server_ttl_seconds", expiry - time.time())
        return True

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            self.log.error("%s", text)
        self._complaint = text


def _file_stamp(path: str) -> object:
    """Changes when the file does: inode, size, time. None when it is not there."""
    try:
        found = os.stat(path) if path else None
    except OSError:
        return None
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)


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
