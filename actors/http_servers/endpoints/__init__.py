"""The endpoints of the node's HTTP API: one module each, with ENDPOINT, its declaration. Add a new one here."""

from __future__ import annotations

from typing import Final

from . import (
    attach,
    checkpoint,
    configz,
    container_logs,
    debug_flags,
    debug_pprof,
    exec,
    flagz,
    healthz,
    logs,
    metrics,
    metrics_cadvisor,
    metrics_probes,
    metrics_resource,
    metrics_slis,
    pods,
    port_forward,
    run,
    running_pods,
    stats_summary,
    statusz,
)

ENDPOINTS: Final = tuple(
    module.ENDPOINT
    for module in (
        healthz, pods, configz,
        metrics, metrics_resource, metrics_cadvisor, metrics_probes, metrics_slis, stats_summary,
        container_logs, exec, attach, port_forward, run,
        running_pods, logs, checkpoint, flagz, statusz, debug_pprof, debug_flags,
    )
)  # fmt: skip
