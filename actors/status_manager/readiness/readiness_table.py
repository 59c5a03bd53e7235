"""Whether each container is started and ready: by its probes or, before their first result, by its last known
readiness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from actors.shared.cri.model import CriContainer
from actors.shared.kube.container import Container

from ..containers.container_status_input import Readiness
from ..messages import ProbeResult
from ..pods.tracked_pod import TrackedPod
from .readiness_file import ReadinessFile

OLD_NS: Final = 10_000_000_000
"""A container that started this long before the agent keeps its readiness until it is probed."""
Results = Mapping[tuple[str, str], ProbeResult]
"""By container name and kind of probe."""


class ReadinessInput(msgspec.Struct, frozen=True):
    """The input of the readiness of one container."""

    results: Results
    """The results of its pod's probes since this agent started."""
    before: Readiness | None
    """The last known readiness, of this agent or an earlier one."""
    agent_started_ns: int
    """Nanoseconds since 1970."""


def readiness(container: Container, instance: CriContainer, sources: ReadinessInput) -> Readiness:
    """A container without a probe is started and ready; for one with a probe the probe decides."""
    before = sources.before
    if before is None:
        old = 0 < instance.started_ns < sources.agent_started_ns - OLD_NS
        before = Readiness(old, old)
    started = container.startupProbe is None or _result_or_last(sources.results, instance, "startup", before.started)
    ready = container.readinessProbe is None or _result_or_last(sources.results, instance, "readiness", before.ready)
    return Readiness(started, started and ready)


def _result_or_last(results: Results, instance: CriContainer, kind: str, before: bool) -> bool:
    """The probe's result for this container instance; without one, the last known readiness."""
    result = results.get((instance.name, kind))
    return result.success if result is not None and result.container_id == instance.id else before


class ReadinessTable:
    """All containers: the results of their probes, and the file that outlives the agent."""

    def __init__(self, file: ReadinessFile, agent_started_ns: int) -> None:
        self.file = file
        self._agent_started_ns = agent_started_ns
        self._results: dict[str, dict[tuple[str, str], ProbeResult]] = {}
        """By pod UID."""

    def found(self, result: ProbeResult) -> None:
        self._results.setdefault(result.uid, {})[result.container, result.kind] = result

    def uids(self) -> set[str]:
        """The pods with a result."""
        return set(self._results)

    def forget(self, uid: str) -> None:
        self._results.pop(uid, None)
        self.file.keep_containers(uid, ())

    def of(self, tracked: TrackedPod) -> Callable[[Container, CriContainer], Readiness]:
        """The readiness of this pod's containers. That of containers with probes goes into the file."""
        uid, results = tracked.uid, self._results.get(tracked.uid, {})

        def found(container: Container, instance: CriContainer) -> Readiness:
            before = self.file.get(uid, instance.id) or tracked.readiness(container.name, instance.id)
            now = readiness(container, instance, ReadinessInput(results, before, self._agent_started_ns))
            if container.startupProbe is not None or container.readinessProbe is not None:
                self.file.put(uid, instance.id, now)
            return now

        return found
