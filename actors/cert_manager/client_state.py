"""The state of the client certificate's files (both kubeconfigs and the store), and the action for it."""

from __future__ import annotations

import os

import msgspec

from actors.shared.api.access import ServerAccess, loaded_at_start
from actors.shared.config.agent import Agent
from supervision.errors import error_reason

from .certificate import Certificate
from .certificate_store import CertificateStore, Pair, WatchedStore
from .client_kubeconfig import KubeconfigFile, KubeconfigState
from .client_plan import Bootstrap, ClientFacts, Config, KubeconfigAction, config_of, decide, is_of_node, needs_storing
from .rotation import ended


class ClientState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the files, and the action for it."""

    action: KubeconfigAction = KubeconfigAction.WAIT
    access: ServerAccess | None = None
    """The current access to the API server."""
    certificate: Certificate | None = None
    """The certificate in use."""
    bootstrap: ServerAccess | None = None
    stamps: tuple[object, ...] = ()
    """The stamps of the kubeconfig's files; they change when a file does."""
    fresh: bool = False
    """The kubeconfig was written a moment ago."""
    needs_storing: bool = False
    """The kubeconfig's own pair must be put into the store."""
    config_problem: str = ""
    bootstrap_problem: str = ""
    store_problem: str = ""


class ClientFiles:
    """Reads a file again only when it has changed."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._config = KubeconfigFile(agent.kubeconfig, loaded_at_start(agent.access))
        self._bootstrap = KubeconfigFile(agent.bootstrap_kubeconfig)
        self.store = CertificateStore(agent.cert_dir, "kubelet-client")
        self._watched_store = WatchedStore(self.store)

    async def state(self, now: float) -> ClientState:
        """Read the files. `now`: seconds since 1970."""
        pair, store_problem = self._read_store(now)
        config, bootstrap = await self._config.read(), await self._bootstrap.read()
        facts = ClientFacts(
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
            needs_storing=self._needs_storing(facts, config.certificate),
            config_problem=config.problem or f"{self._agent.kubeconfig} (--kubeconfig) does not exist",
            bootstrap_problem=self._bootstrap_problem(bootstrap),
            store_problem=store_problem,
        )

    def _read_store(self, now: float) -> tuple[Pair | None, str]:
        """The store's pair, if it belongs to this node and has not expired; and the store's problem."""
        try:
            pair = self._watched_store.pair(now)
        except OSError as error:
            return None, f"{self.store.current_path}: {error_reason(error)}"
        if pair is None or ended(pair.certificate, now) or not is_of_node(pair.certificate, self._agent.node_name):
            return None, ""
        return pair, ""

    def _is_newer(self, pair: Pair | None, certificate: Certificate | None) -> bool:
        """Whether the pair expires later than the kubeconfig's certificate. A certificate of another user stays."""
        if pair is None or certificate is None or not is_of_node(certificate, self._agent.node_name):
            return False
        return pair.certificate.not_after > certificate.not_after

    def _needs_storing(self, facts: ClientFacts, certificate: Certificate | None) -> bool:
        rotates = self._agent.config.rotateCertificates and not os.path.lexists(self.store.current_path)
        return rotates and needs_storing(facts, certificate, self._agent.node_name)

    def _bootstrap_problem(self, kubeconfig: KubeconfigState) -> str:
        path = self._agent.bootstrap_kubeconfig
        if not path:
            return "there is no --bootstrap-kubeconfig"
        return kubeconfig.problem or f"{path} (--bootstrap-kubeconfig) does not exist"


def _config(kubeconfig: KubeconfigState, now: float) -> Config:
    if kubeconfig.absent:
        return Config.ABSENT
    return Config.BROKEN if kubeconfig.access is None else config_of(kubeconfig.certificate, now)


def _bootstrap(kubeconfig: KubeconfigState) -> Bootstrap:
    if kubeconfig.absent:
        return Bootstrap.ABSENT
    return Bootstrap.BROKEN if kubeconfig.access is None else Bootstrap.USABLE


def _in_use(
    action: KubeconfigAction, kubeconfig: KubeconfigState, pair: Pair | None
) -> tuple[ServerAccess | None, Certificate | None]:
    if action in (KubeconfigAction.USE, KubeconfigAction.ENDED):
        return kubeconfig.access, kubeconfig.certificate
    if action is KubeconfigAction.ADOPT and kubeconfig.access is not None and pair is not None:
        return kubeconfig.access.with_certificate(pair.cert_file), pair.certificate
    return None, None
