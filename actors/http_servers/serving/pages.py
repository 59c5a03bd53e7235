"""The paths whose code is loaded by their first request, by the switches of the configuration."""

from __future__ import annotations

from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

from .handler import DebuggingOff, Routes
from .lazy import lazily

_PART = r"([^/]+)"


def harmless() -> Routes:
    """On the read-only server too."""
    slis = lazily("debugging.small_metrics:slis", delete="debugging.small_metrics:reset_slis")
    return (
        (r"/stats/summary/?", lazily("usage.pages:summary")),
        (r"/metrics/resource/?", lazily("usage.pages:resource")),
        (r"/metrics/cadvisor/?", lazily("usage.pages:cadvisor")),
        (r"/metrics/probes/?", lazily("debugging.small_metrics:probes")),
        (r"/metrics/slis/?", slis),
    )


def debugging(config: KubeletConfiguration) -> Routes:
    """With enableDebuggingHandlers only."""
    gates, found = config.featureGates, [(r"/runningpods/?", lazily("debugging.running_pods:page"))]
    if config.enableProfilingHandler:
        found.append((r"/debug/pprof/?([^/]*)", lazily("debugging.profiling:page")))
    else:
        found.append((r"/debug/pprof/?.*", DebuggingOff))
    if config.enableDebugFlagsHandler:
        found.append((r"/debug/flags/v", lazily("debugging.verbosity:page", "PUT")))
    else:
        found.append((r"/debug/flags/v", DebuggingOff))
    if config.enableSystemLogHandler:
        with_query = config.enableSystemLogQuery and enabled("NodeLogQuery", gates)
        where = "system_logs.pages:with_query" if with_query else "system_logs.pages:page"
        found.append((r"/logs(?:/(.*))?", lazily(where)))
    else:
        found.append((r"/logs(?:/.*)?", DebuggingOff))
    if enabled("ContainerCheckpoint", gates):
        found.append((rf"/checkpoint/{_PART}/{_PART}/{_PART}", lazily("debugging.checkpoint:page", "POST")))
    if enabled("ComponentFlagz", gates):
        found.append((r"/flagz/?", lazily("debugging.z_pages:flagz")))
    if enabled("ComponentStatusz", gates):
        found.append((r"/statusz/?", lazily("debugging.z_pages:statusz")))
    return found
