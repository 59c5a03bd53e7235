"""What a fake runtime has: sandboxes, containers, images, and the events of their coming and going."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from proto import cri_pb2 as cri

Sleep = Callable[[float], Awaitable[None]]
BACKLOG = 1000


class RpcFailure(Exception):
    """Answered with this gRPC code's name and these words."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(code, details)
        self.code, self.details = code, details


@dataclass
class Container:
    id: str
    sandbox_id: str
    config: cri.ContainerConfig
    image_ref: str
    created_ns: int
    image_name: str = ""
    """The first tag of the image, which its status names whatever the container was created with."""
    state: cri.ContainerState.ValueType = cri.CONTAINER_CREATED
    started_ns: int = 0
    finished_ns: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    log_path: str = ""
    task_left: bool = False
    """Its task is there though it does not run, and is not told of: it cannot be removed (see leftover_tasks)."""
    starting: bool = False
    """A start is under way: it can be neither started once more nor removed."""
    resources: cri.LinuxContainerResources = field(default_factory=cri.LinuxContainerResources)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    program: asyncio.Task[None] | None = None


@dataclass
class Sandbox:
    id: str
    config: cri.PodSandboxConfig
    runtime_handler: str
    created_ns: int
    ip: str
    more_ips: tuple[str, ...] = ()
    ready: bool = True


class World:
    """The state, and the few rules that hold whoever changes it."""

    def __init__(self, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self.clock_ns = clock_ns
        self.sandboxes: dict[str, Sandbox] = {}
        self.containers: dict[str, Container] = {}
        self.reserved: dict[str, str] = {}
        """Name to id: of what exists, and of what is being made."""
        self._backlog: list[cri.ContainerEventResponse] = []
        self._readers: list[asyncio.Queue[cri.ContainerEventResponse]] = []
        self.more_ips: tuple[str, ...] = ()
        """Those that each new sandbox has besides its first one."""
        self._made = 0
        self._addresses = 0

    def new_id(self) -> str:
        """64 hexadecimal digits, as containerd's."""
        self._made += 1
        return hashlib.sha256(f"{id(self)} {self._made}".encode()).hexdigest()

    def new_address(self) -> str:
        self._addresses += 1
        return f"10.88.{self._addresses // 250}.{self._addresses % 250 + 2}"

    def reserve(self, name: str, new_id: str, code: str) -> None:
        """Raises RpcFailure when the name is taken."""
        owner = self.reserved.setdefault(name, new_id)
        if owner != new_id:
            raise RpcFailure(code, f'failed to reserve name "{name}": name "{name}" is reserved for "{owner}"')

    def release(self, owner: str) -> None:
        for name in [name for name, holder in self.reserved.items() if holder == owner]:
            del self.reserved[name]

    def containers_of(self, sandbox_id: str) -> list[Container]:
        return [container for container in self.containers.values() if container.sandbox_id == sandbox_id]

    def end(self, container: Container, exit_code: int, reason: str = "", message: str = "") -> None:
        """A running container's process ended."""
        if container.state != cri.CONTAINER_RUNNING:
            return
        container.state = cri.CONTAINER_EXITED
        container.exit_code = exit_code
        container.reason = reason or ("Completed" if exit_code == 0 else "Error")
        container.message = message
        container.finished_ns = self.clock_ns()
        container.ended.set()
        if container.program is not None and container.program is not _current():
            container.program.cancel()
        self.announce(container.id, container.sandbox_id, cri.CONTAINER_STOPPED_EVENT)

    @contextmanager
    def starting(self, container_id: str) -> Iterator[None]:
        """While the first start of this container is under way."""
        container = self.containers.get(container_id)
        if container is None or container.starting:
            yield
            return
        container.starting = True
        try:
            yield
        finally:
            container.starting = False

    def refuse_removal(self, container: Container) -> None:
        """Raises RpcFailure when the container's start or its task is in the way of its removal."""
        if container.starting:
            text = f'failed to set removing state for container "{container.id}"'
            raise RpcFailure("UNKNOWN", f"{text}: container is in starting state, can't be removed")
        if container.task_left:
            text = f'failed to delete containerd container "{container.id}": cannot delete running task {container.id}'
            raise RpcFailure("UNKNOWN", f"{text}: failed precondition")

    # -- events -------------------------------------------------------------------------------------------------
    def announce(self, subject: str, sandbox_id: str, kind: cri.ContainerEventType.ValueType) -> None:
        """To every reader; kept for the first one while there is none."""
        from .status import container_status, sandbox_status

        event = cri.ContainerEventResponse(container_id=subject, container_event_type=kind, created_at=self.clock_ns())
        sandbox = self.sandboxes.get(sandbox_id)
        if sandbox is not None:
            event.pod_sandbox_status.CopyFrom(sandbox_status(sandbox))
            event.containers_statuses.extend(container_status(one) for one in self.containers_of(sandbox_id))
        if not self._readers:
            self._backlog = [*self._backlog[-BACKLOG:], event]
        for reader in self._readers:
            reader.put_nowait(event)

    def subscribe(self) -> asyncio.Queue[cri.ContainerEventResponse]:
        """Events from now on, and those kept."""
        reader: asyncio.Queue[cri.ContainerEventResponse] = asyncio.Queue()
        for event in self._backlog:
            reader.put_nowait(event)
        self._backlog = []
        self._readers.append(reader)
        return reader

    def unsubscribe(self, reader: asyncio.Queue[cri.ContainerEventResponse]) -> None:
        self._readers.remove(reader)


def _current() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
