"""Every metric of the agent: name, type, HELP, labels, buckets. Data only.

A metric is declared here, and an actor counts it with `self.metrics`; nothing else is needed. The kubelet's metrics
keep their names, labels and buckets; Troupelet's own begin with `troupelet_` or the actor's name.

- agent: the program, its tree, its configuration, its servers, its client of the API server, traces
- pods: pods, containers, probes, PLEG
- resources: calls to the runtime, images, cgroups, managers of CPUs, memory and topology
- volumes: volumes and plug-ins
- usage: /metrics/resource and /metrics/cadvisor
"""

from __future__ import annotations

from typing import Final

from supervision.metrics import Catalogue, Metric

from . import agent, pods, resources, volumes

METRICS: Final[tuple[Metric, ...]] = (*agent.METRICS, *pods.METRICS, *resources.METRICS, *volumes.METRICS)


def catalogue(*, strict: bool = False) -> Catalogue:
    """The catalogue, with the engine's metrics. `strict`: for tests."""
    return Catalogue(METRICS, strict=strict)
