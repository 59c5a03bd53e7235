"""The server: its parts put together, started and stopped, and what tests in the same process call directly."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from types import TracebackType

from . import kubeconfigs
from .authority import Authority
from .controllers import Controllers
from .faults import Book, Fault, Faults, Script, Seen
from .http import HttpServer
from .kubelet_proxy import KubeletProxy
from .objects import Obj
from .options import Options
from .registry import Registry, Update, key_of
from .request import Target, User
from .request_handler import Handling
from .resources import core, named
from .schemas import typed
from .storage import Store
from .tokens import Tokens
from .users import Users

ADMIN = User("kubernetes-admin", ("system:masters", "system:authenticated"))
BOOTSTRAP_TOKEN = "abcdef.0123456789abcdef"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_DAYS = 30 * 86_400


class ApiServer:
    """Keeps keys, certificates and (with `keep`) its objects in `folder`; a later one there goes on with them."""

    def __init__(
        self,
        folder: Path,
        script: Script | None = None,
        *,
        port: int = 0,
        address: str = "127.0.0.1",
        names: tuple[str, ...] = (),
        keep: bool = False,
        **options: object,
    ) -> None:
        """`script`: as in `faults`. `names`: those in the server's certificate, without its address then."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.options = folder, Options(**options)  # type: ignore[arg-type]
        self._address, self.port = address, port
        self.authority = Authority(folder / "pki")
        self.store = Store(folder / "storage.jsonl" if keep else None, self.options.history)
        self.registry = Registry(self.store)
        self.tokens = Tokens(self.store, folder)
        self.users = Users(self.tokens, self.options.anonymous)
        groups = ("system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated")
        self.users.static[BOOTSTRAP_TOKEN] = User("system:bootstrap:abcdef", groups)
        proxy = KubeletProxy(self.store, self.authority.client("kube-apiserver-kubelet-client", "system:masters"))
        self._handling = Handling(self.registry, self.users, self.tokens, self.options, proxy)
        self._handling.faults.script = script
        shown = self.authority.server_context(names=names) if names else self.authority.server_context(address)
        self._http = HttpServer(self._handling, shown)
        self._handling.orders.drop_connections = self._http.drop_connections
        self._controllers = Controllers(self.registry, self.authority, self.options)
        self._running: asyncio.Task[None] | None = None

    # -- life -----------------------------------------------------------------------------------------------------
    async def __aenter__(self) -> ApiServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()
        self._http.give_port_back()

    async def start(self) -> None:
        """Listens; on the same port as before if it was stopped."""
        self._running = asyncio.ensure_future(self._controllers.run())
        await asyncio.sleep(0)
        for name in NAMESPACES:
            if self.store.get(("namespaces", "", name)) is None:
                self.create("namespaces", {"metadata": {"name": name}})
        for plural in ("namespaces", "nodes", "pods"):
            for one in self.store.items(plural):
                self._controllers.react(
                    key_of(core(plural), one["metadata"].get("namespace", ""), one["metadata"]["name"])
                )
        self.port = await self._http.start(self._address, self.port)
        self._handling.address = f"{self._address}:{self.port}"

    async def stop(self) -> None:
        """Connections are cut; objects stay."""
        await self._http.stop()
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running
            self._running = None

    @property
    def url(self) -> str:
        return f"https://{self._address}:{self.port}"

    # -- faults and what was asked ----------------------------------------------------------------------------------
    @property
    def faults(self) -> Faults:
        return self._handling.faults

    def fault(self, kind: str, **fields: object) -> Fault:
        """Orders a Fault."""
        return self.faults.add(Fault(kind, **fields))  # type: ignore[arg-type]

    @property
    def requests(self) -> Book:
        """All that was asked, oldest first."""
        return self._handling.book

    @property
    def handling(self) -> Handling:
        return self._handling

    @property
    def connections(self) -> int:
        """So many there have been."""
        return self._http.connections

    def requests_for(self, verb: str = "", resource: str = "") -> list[Seen]:
        """Of the requests those with this verb and resource (`pods`, `pods/status`)."""
        return [one for one in self.requests if verb in ("", one.verb) and resource in ("", one.resource)]

    def drop_connections(self) -> None:
        self._http.drop_connections()

    # -- objects, as an administrator -------------------------------------------------------------------------------
    def create(self, plural: str, obj: Obj, namespace: str = "") -> Obj:
        """With all that admission adds. `plural`: `pods`, `leases`, ... Raises StatusError."""
        resource = named(plural)
        if resource.namespaced:
            namespace = namespace or obj.get("metadata", {}).get("namespace", "default")
        return self._handling.verbs.create(Target(resource, "create", namespace), obj, ADMIN)

    def get(self, plural: str, name: str, namespace: str = "default") -> Obj | None:
        return self.store.get(key_of(named(plural), namespace, name))

    def items(self, plural: str, namespace: str = "") -> list[Obj]:
        return self.store.items(key_of(named(plural), "", "")[0], namespace)

    def patch(self, plural: str, name: str, patch: Obj, namespace: str = "default", subresource: str = "") -> Obj:
        """A merge patch."""
        import msgspec

        resource = named(plural)
        key = key_of(resource, namespace, name)
        form = "application/merge-patch+json"
        how = (form, msgspec.json.encode(patch), lambda obj: typed(resource.kind, obj, strict=False))
        return self.registry.patch(resource, key, how, Update(subresource, lambda old, new: None))

    def delete(self, plural: str, name: str, namespace: str = "default", **options: object) -> Obj:
        """`options`: gracePeriodSeconds, preconditions."""
        resource = named(plural)
        return self.registry.delete(resource, key_of(resource, namespace, name), dict(options))[0]

    # -- credentials ------------------------------------------------------------------------------------------------
    def kubeconfig(self, user: str = "kubernetes-admin", *groups: str, seconds: int = _DAYS) -> str:
        """Path of one with a new client certificate; without groups, of an administrator."""
        certificate = self.authority.client(user, *(groups or ("system:masters",)), seconds=seconds)
        return self._kubeconfig(user, kubeconfigs.certificate_user(certificate))

    def node_kubeconfig(self, node: str, seconds: int = _DAYS) -> str:
        return self.kubeconfig(f"system:node:{node}", "system:nodes", seconds=seconds)

    def bootstrap_kubeconfig(self) -> str:
        return self.token_kubeconfig("bootstrap", BOOTSTRAP_TOKEN)

    def token_kubeconfig(self, name: str, token: str) -> str:
        return self._kubeconfig(name, {"token": token})

    def _kubeconfig(self, name: str, user: Obj) -> str:
        """JSON is YAML too. Known only once the port is."""
        path = self.folder / f"{name.replace(':', '-')}.kubeconfig"
        return str(kubeconfigs.write(path, self.url, self.authority.pem, user))
