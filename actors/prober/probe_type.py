"""The interface of a probe type.

To add a probe type:

1. Declare the action, and its field of Probe, in `actors/shared/kube/handlers.py`.
2. Write one module with one subclass of `ProbeType`: the field that it reads (`field`), and how it runs (`run`).
3. Add the class to `probe_types.PROBE_TYPES`.

Period, thresholds, retries, events and metrics are the same for all types: the actor has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

import msgspec

from actors.shared.cri.model import ExecResult, RuntimeVersion
from actors.shared.kube.container import Container

from .outcome import ProbeOutcome

Kind = Literal["liveness", "readiness", "startup"]
Key = tuple[str, str, Kind]
"""The key of one probe: pod UID, container name, kind."""
Action = TypeVar("Action")


class Runtime(Protocol):
    """The calls of the CRI client that a probe may make."""

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_seconds: int = 0) -> ExecResult: ...

    async def version(self) -> RuntimeVersion: ...


class ProbeTools(msgspec.Struct, frozen=True):
    """The interface of the actor for probe types."""

    runtime: Callable[[], Runtime]


class Subject(msgspec.Struct, frozen=True):
    """A container, probed by one of its probes."""

    key: Key
    container: Container
    container_id: str
    """As the runtime has it."""
    pod_ip: str
    """status.podIP; empty only if the type does not need it."""
    timeout_seconds: int


class ProbeType(ABC, Generic[Action]):
    """A way to probe. There is one instance of each type."""

    field: ClassVar[str]
    """The field of Probe (API reference) that has the action."""

    def __init__(self, tools: ProbeTools) -> None:
        self._tools = tools

    def needs_pod_ip(self, action: Action) -> bool:
        """Whether the probe waits until the pod has an address."""
        return False

    @abstractmethod
    async def run(self, action: Action, subject: Subject) -> ProbeOutcome:
        """Probe once, within the subject's timeout. Raises TargetError."""
