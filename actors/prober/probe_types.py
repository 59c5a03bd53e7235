"""The registry of probe types. A probe with actions of two types, which no API server lets through, is of the first."""

from __future__ import annotations

from typing import Any, Final

from actors.shared.http_get.target import TargetError
from actors.shared.kube.handlers import Probe

from .exec_probe import ExecProbe
from .grpc_probe import GrpcProbe
from .http_probe import HttpProbe
from .outcome import ProbeOutcome, error
from .probe_type import ProbeTools, ProbeType, Subject
from .tcp_probe import TcpProbe

PROBE_TYPES: Final[tuple[type[ProbeType[Any]], ...]] = (
    ExecProbe,
    HttpProbe,
    TcpProbe,
    GrpcProbe,
)
TRIES: Final = 3
"""Runs in a row, at once, of a probe that ends with an error."""


class ProbeTypes:
    """An instance of each, and how a probe is run by its type."""

    def __init__(self, tools: ProbeTools) -> None:
        self._types = [probe_type(tools) for probe_type in PROBE_TYPES]

    def of(self, probe: Probe) -> tuple[ProbeType[Any], Any] | None:
        """The type of this probe, and its action; None: the probe has none."""
        for probe_type in self._types:
            action = getattr(probe, probe_type.field)
            if action is not None:
                return probe_type, action
        return None

    def needs_pod_ip(self, probe: Probe) -> bool:
        """Whether the probe waits for the pod's address: without one it could only fail."""
        found = self.of(probe)
        return found is not None and found[0].needs_pod_ip(found[1])

    async def run(self, probe: Probe, subject: Subject) -> ProbeOutcome:
        """The outcome; a probe that ends with an error is run again at once."""
        outcome = error("missing probe handler")
        found = self.of(probe)
        if found is None:
            return outcome
        probe_type, action = found
        for _ in range(TRIES):
            try:
                outcome = await probe_type.run(action, subject)
            except TargetError as problem:
                return error(str(problem))
            if outcome.result != "error":
                break
        return outcome
