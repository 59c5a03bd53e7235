"""The node's client certificate: brought about by bootstrap, rotated, and the clients told. Decides by client_plan."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Final

from actors.api_clients.messages import EVENT_CLIENT, HEARTBEAT_CLIENT, KUBE_CLIENT, CredentialsChanged
from actors.shared.api import kubeconfig
from actors.shared.api.access import Access
from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError
from supervision.addresses import ActorName

from . import signing_request
from .certificate import Certificate
from .certificate_request import STORE, WORK_SECONDS, Order, Pursuit
from .certificate_store import Followed, Pair, Store
from .client_kubeconfig import ConfigFile, Reading
from .client_plan import (
    ORGANIZATION,
    Action,
    Bootstrap,
    Config,
    Facts,
    config_of,
    decide,
    is_of_node,
    node_user,
    to_keep,
    to_rotate,
)
from .rotation import due_at, ended, is_due

CLIENTS: Final = (KUBE_CLIENT, HEARTBEAT_CLIENT, EVENT_CLIENT)
TTL: Final = "kubelet_certificate_manager_client_ttl_seconds"
ERRORS: Final = "kubelet_certificate_manager_client_expiration_renew_errors"


class ClientCertificate:
    """One for an agent with a kubeconfig. `wall` is seconds since 1970."""

    def __init__(self, actor: Actor, agent: Agent, wall: Callable[[], float] = time.time) -> None:
        self._actor, self._agent, self.wall = actor, agent, wall
        self._config = ConfigFile(agent.kubeconfig)
        self._bootstrap = ConfigFile(agent.bootstrap_kubeconfig)
        self.store = Store(agent.cert_dir, "kubelet-client")
        self._followed = Followed(self.store)
        self._action = Action.WAIT
        self._to_keep = False
        self._tried_to_keep: tuple[object, ...] = ()
        """Of which kubeconfig."""
        self.access: Access | None = None
        """How the API server is reached by now."""
        self.certificate: Certificate | None = None
        """The one in use."""
        self._told: tuple[object, ...] = ()
        self._life = ("", False)
        """Fingerprint of the certificate that was last spoken of, and whether it was due for another then."""
        self._message: CredentialsChanged | None = None
        self._version, self._complaint = 0, ""
        self.pursuit = Pursuit(actor, "client certificate", self._wanted, self._installed)
        self.pursuit.wall = wall
        self.pursuit.failed = self._failed
        self.changed: Callable[[], None] = lambda: None
        """Called when there is another way to the API server, or the first one."""

    # -- looking --------------------------------------------------------------------------------------------------
    async def look(self) -> None:
        """See what the files come to, and do what follows. Cheap when nothing has changed."""
        before = self._action
        await self._settle()
        if self._action is not before:
            self.pursuit.hurry()
        self.pursuit.wake()

    async def _settle(self) -> None:
        self._action = self._decide()
        if self._action is Action.WRITE and await self._write_kubeconfig():
            self._action = self._decide()
        if self._to_keep and self._config.stamps != self._tried_to_keep:
            await self._keep()
        self._complain(self._action)
        self._tell()
        self._say_life()
        self.measure()

    def _decide(self) -> Action:
        """Also settles what is in use: access and certificate."""
        now = self.wall()
        pair = self._stored(now)
        read = self._config.read()
        facts = Facts(
            _config_state(read, now),
            _bootstrap_state(self._bootstrap.read()),
            stored=pair is not None,
            newer=self._is_newer(pair, read.certificate),
            fresh=self._config.is_fresh(now),
        )
        action = decide(facts)
        rotates = self._agent.config.rotateCertificates and not os.path.lexists(self.store.current_path)
        self._to_keep = rotates and to_keep(facts, read.certificate, self._agent.node_name)
        self.access, self.certificate = self._in_use(action, read, pair)
        return action

    def _stored(self, now: float) -> Pair | None:
        """The store's pair, if it is of this node and has not ended."""
        try:
            pair = self._followed.pair(now)
        except OSError as error:
            self._say(f"{self.store.current_path}: {error}")
            return None
        if pair is None or ended(pair.certificate, now) or not is_of_node(pair.certificate, self._agent.node_name):
            return None
        return pair

    def _is_newer(self, pair: Pair | None, certificate: Certificate | None) -> bool:
        """Than the kubeconfig's, if that is the node's too: another user's is there on purpose."""
        if pair is None or certificate is None or not is_of_node(certificate, self._agent.node_name):
            return False
        return pair.certificate.not_after > certificate.not_after

    def _in_use(self, action: Action, read: Reading, pair: Pair | None) -> tuple[Access | None, Certificate | None]:
        if action in (Action.USE, Action.ENDED):
            return read.access, read.certificate
        if action is Action.ADOPT and read.access is not None and pair is not None:
            return read.access.with_certificate(pair.cert_file), pair.certificate
        return None, None

    # -- doing ----------------------------------------------------------------------------------------------------
    async def _write_kubeconfig(self) -> bool:
        access = self._bootstrap.read().access
        if access is None:
            return False
        path = self.store.current_path
        arguments = {"path": self._agent.kubeconfig, "text": kubeconfig.render(access, path, path)}
        try:
            await self._actor.disposable(f"{STORE}:write_file", arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            self._say(f"cannot write {self._agent.kubeconfig}: {error}")
            return False
        self._actor.log.info("wrote %s, which names %s", self._agent.kubeconfig, path)
        return True

    async def _keep(self) -> None:
        """The kubeconfig's own pair, once. When that fails nothing is lost: the kubeconfig has it."""
        self._tried_to_keep = self._config.stamps
        arguments = {
            "directory": self.store.directory,
            "prefix": self.store.prefix,
            "config": self._agent.kubeconfig,
        }
        try:
            await self._actor.disposable(f"{STORE}:keep_given", arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            self._actor.log.warning("the pair of %s is not put in its place: %s", self._agent.kubeconfig, error)

    def _wanted(self) -> Order | None:
        """What is to be asked of the API server now."""
        if self._action is Action.BOOTSTRAP:
            return self._order(self._bootstrap.read().access)
        wanted = self._agent.config.rotateCertificates
        if self.access is None or not to_rotate(self.certificate, self._agent.node_name, self.wall(), wanted=wanted):
            return None
        return self._order(self.access)

    def _order(self, access: Access | None) -> Order | None:
        if access is None:
            return None
        return Order(
            store=self.store,
            signer=signing_request.CLIENT_SIGNER,
            usages=("digital signature", "client auth"),
            user=node_user(self._agent.node_name),
            group=ORGANIZATION,
            access=access,
        )

    async def _installed(self, order: Order) -> None:
        """No request follows at once: for a certificate that is no use there would be no end of them."""
        await self._settle()

    def _failed(self) -> None:
        self._actor.metrics.count(ERRORS)

    # -- telling --------------------------------------------------------------------------------------------------
    def _tell(self) -> None:
        """The clients, when what they are to use has changed."""
        if self.access is None:
            return
        print_of = self.certificate.fingerprint if self.certificate is not None else ""
        now = (self._config.stamps, self.access.cert_file, print_of)
        if now == self._told:
            return
        self._told = now
        self._version += 1
        path = self.access.cert_file if self._action is Action.ADOPT else ""
        self._message = CredentialsChanged(self._agent.kubeconfig, self._version, path)
        for client in CLIENTS:
            self._actor.tell(client, self._message, deadline=60.0)
        self.changed()

    def _say_life(self) -> None:
        """Until when the certificate is valid: when it is first used, and when it is due for another."""
        certificate, log = self.certificate, self._actor.log
        if certificate is None:
            return
        now = (certificate.fingerprint, is_due(certificate, self.wall()))
        if now == self._life:
            return
        self._life = now
        who, end = certificate.common_name, _when(certificate.not_after)
        if self._agent.config.rotateCertificates and is_of_node(certificate, self._agent.node_name):
            log.info("client certificate of %s, valid until %s, rotated from %s", who, end, _when(due_at(certificate)))
        elif now[1]:
            log.warning("client certificate of %s ends at %s, and is not rotated (rotateCertificates)", who, end)
        else:
            log.info("client certificate of %s, valid until %s, not rotated", who, end)

    def hello(self, name: ActorName) -> None:
        """A client has started."""
        if name in CLIENTS and self._message is not None:
            self._actor.tell(name, self._message)

    def measure(self) -> None:
        left = self.certificate.not_after - self.wall() if self.certificate is not None else math.inf
        self._actor.metrics.gauge(TTL, left)

    def _complain(self, action: Action) -> None:
        if action is Action.WAIT and not self._config.is_fresh(self.wall()):
            self._say(self._why_waiting())
        elif action is Action.ENDED and self.certificate is not None:
            self._say(
                f"the client certificate of {self._agent.kubeconfig} ended at {_when(self.certificate.not_after)}, and "
                f"{self._without_bootstrap()}: put a kubeconfig with a new one there"
            )
        elif action in (Action.USE, Action.ADOPT):
            self._complaint = ""

    def _why_waiting(self) -> str:
        read = self._config.read()
        what = read.problem or f"{self._agent.kubeconfig} (--kubeconfig) is not there"
        return f"no credentials for the API server: {what}; {self._without_bootstrap()}"

    def _without_bootstrap(self) -> str:
        path = self._agent.bootstrap_kubeconfig
        if not path:
            return "there is no --bootstrap-kubeconfig"
        return self._bootstrap.read().problem or f"{path} (--bootstrap-kubeconfig) is not there"

    def _say(self, text: str) -> None:
        if text != self._complaint:
            self._actor.log.error("%s", text)
        self._complaint = text


def _config_state(read: Reading, now: float) -> Config:
    if read.absent:
        return Config.ABSENT
    return Config.BROKEN if read.access is None else config_of(read.certificate, now)


def _bootstrap_state(read: Reading) -> Bootstrap:
    if read.absent:
        return Bootstrap.ABSENT
    return Bootstrap.BROKEN if read.access is None else Bootstrap.USABLE


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
