"""Every metric of the agent: name, type, HELP, labels, buckets. Data only.

A metric is declared here, and counted by an actor with `self.metrics`; nothing else is needed. Metrics of the kubelet
have its names, labels and buckets; those of our own begin with `troupelet_` or the actor's name.

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
    """With the engine's own. `strict`: as tests want it."""
    return Catalogue(METRICS, strict=strict)
