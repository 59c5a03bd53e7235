"""The registry of probe types. A probe with actions of two types, which no API server lets through, is of the first."""

from __future__ import annotations

from typing import Any, Final

from actors.shared.kube.handlers import Probe

from .exec_probe import ExecProbe
from .grpc_probe import GrpcProbe
from .http_probe import HttpProbe
from .probe_type import ProbeTools, ProbeType
from .tcp_probe import TcpProbe

PROBE_TYPES: Final[tuple[type[ProbeType[Any]], ...]] = (
    ExecProbe,
    HttpProbe,
    TcpProbe,
    GrpcProbe,
)


class ProbeTypes:
    """An instance of each."""

    def __init__(self, tools: ProbeTools) -> None:
        self._types = [probe_type(tools) for probe_type in PROBE_TYPES]

    def of(self, probe: Probe) -> tuple[ProbeType[Any], Any] | None:
        """The type of this probe, and its action; None: the probe has none."""
        for probe_type in self._types:
            action = getattr(probe, probe_type.field)
            if action is not None:
                return probe_type, action
        return None
