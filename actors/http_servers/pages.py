"""The paths whose code is loaded by their first request, by the switches of the configuration."""

from __future__ import annotations

from actors.config.kubelet_configuration import KubeletConfiguration

from .lazy import lazily
from .requests import Routes


def harmless() -> Routes:
    """On the read-only server too."""
    return (
        (r"/stats/summary/?", lazily("stats.pages:summary")),
        (r"/metrics/resource/?", lazily("stats.pages:resource")),
        (r"/metrics/cadvisor/?", lazily("stats.pages:cadvisor")),
    )


def debugging(config: KubeletConfiguration) -> Routes:
    """With enableDebuggingHandlers only."""
    return ()
