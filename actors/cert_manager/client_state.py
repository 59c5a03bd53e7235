"""The state of the client certificate's files: both kubeconfigs and the store, and what follows from them."""

from __future__ import annotations

import os

import msgspec

from actors.shared.api.access import Access, loaded_at_start
from actors.shared.config.agent import Agent

from .certificate import Certificate
from .certificate_store import Followed, Pair, Store
from .client_kubeconfig import ConfigFile, Reading
from .client_plan import Action, Bootstrap, Config, Facts, config_of, decide, is_of_node, to_keep
from .rotation import ended


class ClientState(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and what is to be done."""

    action: Action = Action.WAIT
    access: Access | None = None
    """How the API server is reached now."""
    certificate: Certificate | None = None
    """The one in use."""
    bootstrap: Access | None = None
    stamps: tuple[object, ...] = ()
    """Of the kubeconfig's files: another value when one has changed."""
    fresh: bool = False
    """The kubeconfig was written a moment ago."""
    to_keep: bool = False
    """The kubeconfig's own pair is to be put in the store."""
    config_problem: str = ""
    bootstrap_problem: str = ""
    store_problem: str = ""


class ClientFiles:
    """Reads a file again only when it has changed."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._config = ConfigFile(agent.kubeconfig, loaded_at_start(agent.access))
        self._bootstrap = ConfigFile(agent.bootstrap_kubeconfig)
        self.store = Store(agent.cert_dir, "kubelet-client")
        self._followed = Followed(self.store)

    async def state(self, now: float) -> ClientState:
        """As the files are now. `now`: seconds since 1970."""
        pair, store_problem = self._stored(now)
        config, bootstrap = await self._config.read(), await self._bootstrap.read()
        facts = Facts(
            config=_config(config, now),
            bootstrap=_bootstrap(bootstrap),
            stored=pair is not None,
            newer=self._is_newer(pair, config.certificate),
            fresh=self._config.is_fresh(now),
        )
        action = decide(facts)
        access, certificate = _in_use(action, config, pair)
        return ClientState(
            action=action,
            access=access,
            certificate=certificate,
            bootstrap=bootstrap.access,
            stamps=self._config.stamps,
            fresh=facts.fresh,
            to_keep=self._to_keep(facts, config.certificate),
            config_problem=config.problem or f"{self._agent.kubeconfig} (--kubeconfig) is not there",
            bootstrap_problem=self._bootstrap_problem(bootstrap),
            store_problem=store_problem,
        )

    def _stored(self, now: float) -> tuple[Pair | None, str]:
        """The store's pair, if it is of this node and has not ended, and why the store cannot be read."""
        try:
            pair = self._followed.pair(now)
        except OSError as error:
            return None, f"{self.store.current_path}: {error}"
        if pair is None or ended(pair.certificate, now) or not is_of_node(pair.certificate, self._agent.node_name):
            return None, ""
        return pair, ""

    def _is_newer(self, pair: Pair | None, certificate: Certificate | None) -> bool:
        """Whether the pair ends later than the kubeconfig's certificate. Another user's is there on purpose."""
        if pair is None or certificate is None or not is_of_node(certificate, self._agent.node_name):
            return False
        return pair.certificate.not_after > certificate.not_after

    def _to_keep(self, facts: Facts, certificate: Certificate | None) -> bool:
        rotates = self._agent.config.rotateCertificates and not os.path.lexists(self.store.current_path)
        return rotates and to_keep(facts, certificate, self._agent.node_name)

    def _bootstrap_problem(self, read: Reading) -> str:
        path = self._agent.bootstrap_kubeconfig
        if not path:
            return "there is no --bootstrap-kubeconfig"
        return read.problem or f"{path} (--bootstrap-kubeconfig) is not there"


def _config(read: Reading, now: float) -> Config:
    if read.absent:
        return Config.ABSENT
    return Config.BROKEN if read.access is None else config_of(read.certificate, now)


def _bootstrap(read: Reading) -> Bootstrap:
    if read.absent:
        return Bootstrap.ABSENT
    return Bootstrap.BROKEN if read.access is None else Bootstrap.USABLE


def _in_use(action: Action, read: Reading, pair: Pair | None) -> tuple[Access | None, Certificate | None]:
    if action in (Action.USE, Action.ENDED):
        return read.access, read.certificate
    if action is Action.ADOPT and read.access is not None and pair is not None:
        return read.access.with_certificate(pair.cert_file), pair.certificate
    return None, None
