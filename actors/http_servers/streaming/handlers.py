"""The paths of exec, attach, port-forward and run: find the container, ask the runtime for a URL, join the connections.

A stream needs the runtime and this server only: whichever other actor is replaced meanwhile, it goes on.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Final

import msgspec
from tornado.iostream import StreamClosedError

from actors.http_servers.serving.handler import ASK_SECONDS, Handler
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, DeadlineExceeded, NotFound
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.names import POD_UID_LABEL
from actors.shared.kube.pod import ContainerStatus, Pod, PodStatus
from actors.shared.kube.pods import find_container
from actors.status_manager.messages import STATUS_MANAGER, GetPodStatus, PodStatusFound
from proto import cri_pb2 as cri
from supervision.actor import AskError

from .joined_streams import join
from .options import BadOptions, Streams, command, ports, streams
from .upstream import UpstreamError, open_upstream

MOST_STREAMS: Final = 512
RUN_SECONDS: Final = 120
_BAD: Final = 400


class Refused(Exception):
    """HTTP status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Runtime:
    """The server's way to the runtime, opened by its first stream, and how many streams there are."""

    def __init__(self, make: Callable[[], CriClient], idle_seconds: float) -> None:
        self._make, self.idle_seconds = make, idle_seconds
        self._client: CriClient | None = None
        self.streams = 0

    @property
    def client(self) -> CriClient:
        if self._client is None:
            self._client = self._make()
        return self._client


class _Found(msgspec.Struct, frozen=True):
    pod: Pod
    status: PodStatus


class _Stream(Handler):
    """Base. Its subclasses know which URL to ask for."""

    @property
    def runtime(self) -> Runtime:
        found: Runtime = self.application.settings["runtime"]
        return found

    async def url(self, found: _Found, container: str) -> str:
        """Raises Refused, BadOptions, CriError."""
        raise NotImplementedError

    async def serve(self, namespace: str, name: str, uid: str = "", container: str = "") -> None:
        """Answer, one way or the other."""
        try:
            if not self._is_upgrade():
                raise Refused(_BAD, "you must ask for an upgrade of the connection (SPDY/3.1 or websocket)")
            url = await self.url(await self.find(namespace, name, uid), container)
            await self._join(url)
        except BadOptions as error:
            self.refuse(_BAD, str(error))
        except Refused as error:
            self.refuse(error.status, str(error))
        except (CriError, UpstreamError) as error:
            self.refuse(404 if isinstance(error, NotFound) else 500, str(error))

    def _is_upgrade(self) -> bool:
        headers = self.request.headers
        return "upgrade" in headers.get("Connection", "").lower() and bool(headers.get("Upgrade"))

    async def _join(self, url: str) -> None:
        if self.runtime.streams >= MOST_STREAMS:
            raise Refused(429, f"there are {MOST_STREAMS} streams already")
        self.runtime.streams += 1
        try:
            upstream, answer = await open_upstream(url, self.request.method or "GET", self.request.headers)
            if answer.status != 101:
                self.refuse(answer.status if answer.status >= _BAD else 500, answer.body or "the runtime refused")
                return
            if self._gone:
                upstream.close()
                return
            ours = self.detach()
            ours.set_nodelay(True)
            self.set_status(answer.status)  # for the log and the span: the answer itself is the runtime's
            self.actor.metrics.count("kubelet_http_streams_total", path=self.request.path.split("/", 2)[1])
            try:
                await ours.write(answer.head)
            except StreamClosedError:
                upstream.close()
                return
            await join(ours, upstream, self.runtime.idle_seconds)
        finally:
            self.runtime.streams -= 1

    # -- whom it is about -----------------------------------------------------------------------------------------
    async def find(self, namespace: str, name: str, uid: str) -> _Found:
        """Raises Refused."""
        question = GetPodStatus(namespace=namespace, name=name)
        try:
            answer = await self.actor.ask(STATUS_MANAGER, question, PodStatusFound, timeout=ASK_SECONDS)
        except AskError as error:
            raise Refused(503, f"status_manager: {error}") from None
        try:
            pod = decode(answer.pod, Pod) if answer.pod else None
            status = decode(answer.status or b"{}", PodStatus)
        except ObjectError as error:
            raise Refused(500, str(error)) from None
        if pod is None or (uid and uid not in (answer.uid, pod.metadata.uid)):
            raise Refused(404, "pod does not exist")
        return _Found(pod, status)

    def container_id(self, found: _Found, name: str) -> str:
        """Of the instance that runs. Raises Refused."""
        groups = (
            found.status.containerStatuses,
            found.status.initContainerStatuses,
            found.status.ephemeralContainerStatuses,
        )
        status: ContainerStatus | None = next((one for group in groups for one in group if one.name == name), None)
        if status is None or status.state.running is None:
            raise Refused(404, f'container not found ("{name}")')
        return status.containerID.partition("://")[2]

    def query(self) -> dict[str, list[str]]:
        return {key: self.get_query_arguments(key, strip=False) for key in self.request.query_arguments}


class Exec(_Stream):
    """/exec/{namespace}/{pod}[/{uid}]/{container}"""

    async def get(self, *names: str) -> None:
        await self.serve(*_with_uid(names))

    post = get

    async def url(self, found: _Found, container: str) -> str:
        wanted, words = streams(self.query()), command(self.query())
        request = cri.ExecRequest(container_id=self.container_id(found, container), cmd=words, **_flags(wanted))
        return await self.runtime.client.exec_url(request)


class Attach(_Stream):
    """/attach/{namespace}/{pod}[/{uid}]/{container}: whether there is a terminal the container says."""

    async def get(self, *names: str) -> None:
        await self.serve(*_with_uid(names))

    post = get

    async def url(self, found: _Found, container: str) -> str:
        specified = find_container(found.pod, container)
        wanted = streams(self.query(), tty=specified is not None and specified.tty)
        request = cri.AttachRequest(container_id=self.container_id(found, container), **_flags(wanted))
        return await self.runtime.client.attach_url(request)


class PortForward(_Stream):
    """/portForward/{namespace}/{pod}[/{uid}]"""

    async def get(self, namespace: str, name: str, uid: str = "") -> None:
        await self.serve(namespace, name, uid or "")

    post = get

    async def url(self, found: _Found, container: str) -> str:
        websocket = self.request.headers.get("Upgrade", "").lower() == "websocket"
        wanted = ports(self.query(), websocket=websocket)
        client = self.runtime.client
        sandboxes = await client.list_pod_sandboxes({POD_UID_LABEL: found.pod.metadata.uid})
        ready = [sandbox for sandbox in sandboxes if sandbox.ready]
        if not ready:
            raise Refused(404, f'pod not found ("{found.pod.metadata.name}_{found.pod.metadata.namespace}")')
        return await client.port_forward_url(max(ready, key=lambda one: one.created_ns).id, wanted)


class Run(_Stream):
    """/run/{namespace}/{pod}[/{uid}]/{container}: a command's output, once it has ended."""

    async def post(self, *names: str) -> None:
        namespace, name, uid, container = _with_uid(names)
        words = self.get_query_argument("cmd", "").split(" ")
        try:
            found = await self.find(namespace, name, uid)
            ran = await self.runtime.client.exec_sync(self.container_id(found, container), words, RUN_SECONDS)
        except Refused as error:
            self.refuse(error.status, str(error))
            return
        except DeadlineExceeded:
            self.refuse(500, f"{shlex.join(words)}: not done within {RUN_SECONDS} s")
            return
        except CriError as error:
            self.refuse(500, str(error))
            return
        if ran.exit_code:
            self.set_status(500)
        self.finish(ran.stdout + ran.stderr)


def _with_uid(names: tuple[str, ...]) -> tuple[str, str, str, str]:
    """namespace, pod, [uid,] container"""
    namespace, name, *rest = names
    return (namespace, name, rest[0], rest[1]) if len(rest) == 2 else (namespace, name, "", rest[0])


def _flags(wanted: Streams) -> dict[str, bool]:
    return msgspec.structs.asdict(wanted)


def routes() -> list[tuple[str, type[Handler]]]:
    """Path and handler."""
    part = r"([^/]+)"
    pod, container = f"/{part}/{part}", f"/{part}"
    found: list[tuple[str, type[Handler]]] = []
    for prefix, handler in (("exec", Exec), ("attach", Attach), ("run", Run)):
        found += [(rf"/{prefix}{pod}{container}", handler), (rf"/{prefix}{pod}{container}{container}", handler)]
    return [*found, (rf"/portForward{pod}", PortForward), (rf"/portForward{pod}{container}", PortForward)]
