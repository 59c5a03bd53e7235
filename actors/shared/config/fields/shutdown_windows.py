"""The grace periods of pods at node shutdown, from the configuration. Pure; KEP-2000 and KEP-2712."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from actors.shared.config.feature_gates import enabled
from actors.shared.kube.names import SYSTEM_CRITICAL_PRIORITY

from .kubelet_configuration import KubeletConfiguration

DEFAULT_PRIORITY: Final = 0


class Window(msgspec.Struct, frozen=True):
    """The shutdown window of one group of pods."""

    priority: int
    """The lowest priority in the group; lower priorities belong to the lowest window."""
    seconds: float


def windows(config: KubeletConfiguration) -> tuple[Window, ...]:
    """The windows in order, low priorities first. Empty: graceful shutdown is off."""
    by_priority = config.shutdownGracePeriodByPodPriority
    if not enabled("GracefulNodeShutdown", config.featureGates):
        return ()
    if by_priority:
        found = (Window(each.priority, max(0.0, float(each.shutdownGracePeriodSeconds))) for each in by_priority)
        return tuple(sorted(found, key=lambda window: window.priority))
    total, critical = float(config.shutdownGracePeriod), float(config.shutdownGracePeriodCriticalPods)
    if total <= 0:
        return ()
    return (Window(DEFAULT_PRIORITY, total - critical), Window(SYSTEM_CRITICAL_PRIORITY, critical))


def seconds_in_all(given: Sequence[Window]) -> float:
    return sum(window.seconds for window in given)


def fitted(given: Sequence[Window], seconds: float) -> tuple[Window, ...]:
    """The windows reduced to fit into `seconds`: low priorities lose their time first."""
    left, found = seconds, []
    for window in reversed(given):
        found.append(Window(window.priority, min(window.seconds, left)))
        left -= found[-1].seconds
    return tuple(reversed(found))
