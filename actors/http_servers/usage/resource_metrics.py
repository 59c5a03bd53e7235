"""/metrics/resource, for metrics-server and autoscalers (KEP-727). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.http_servers.exposition.text_format import Row, simple
from actors.shared.metrics.usage import RESOURCE
from actors.shared.stats.sample import CgroupSample, PodSample, UsageSample
from supervision.metrics import Catalogue

from .summary import node_swap_used, node_working_set

_DECLARED: Final = Catalogue(RESOURCE)


def text(sample: UsageSample) -> str:
    """The page without the scrape errors."""
    at = sample.at
    rows = [(labels, value) for labels, value in _containers(sample)]
    pods = [({"namespace": p.sandbox.pod_namespace, "pod": p.sandbox.pod_name}, p.usage) for p in sample.pods]
    parts = [
        _single_metric("node_cpu_usage_seconds_total", _seconds(sample.root), at),
        _single_metric("node_memory_working_set_bytes", node_working_set(sample), at),
        _single_metric("node_swap_usage_bytes", node_swap_used(sample.host), at),
    ]
    for prefix, found in (("container", rows), ("pod", pods)):
        known = [(labels, one) for labels, one in found if one is not None]
        cpu: list[Row] = [(labels, value) for labels, one in known if (value := _seconds(one)) is not None]
        memory = [(labels, value) for labels, one in known if (value := one.usage.working_set_bytes) is not None]
        swap = [(labels, value) for labels, one in known if (value := one.usage.swap_bytes) is not None]
        parts += [
            _metric(f"{prefix}_cpu_usage_seconds_total", cpu, at),
            _metric(f"{prefix}_memory_working_set_bytes", memory, at),
            _metric(f"{prefix}_swap_usage_bytes", swap, at),
        ]
    limits = [(labels, value) for labels, one in rows if (value := one.usage.swap_limit_bytes) is not None]
    parts.append(_metric("container_swap_limit_bytes", limits, at))
    parts.append(_metric("container_start_time_seconds", _starts(sample)))
    return "".join(parts)


def _containers(sample: UsageSample) -> list[tuple[dict[str, str], CgroupSample]]:
    return [(labels(pod, one.container.name), one.measured) for pod in sample.pods for one in pod.containers]


def labels(pod: PodSample, container: str) -> dict[str, str]:
    """The labels of a container's series."""
    return {"container": container, "namespace": pod.sandbox.pod_namespace, "pod": pod.sandbox.pod_name}


def _starts(sample: UsageSample) -> list[Row]:
    return [
        (labels(pod, one.container.name), (one.container.started_ns or one.container.created_ns) / 1e9)
        for pod in sample.pods
        for one in pod.containers
    ]


def _seconds(measured: CgroupSample) -> float | None:
    return None if measured.usage.cpu_ns is None else measured.usage.cpu_ns / 1e9


def _single_metric(name: str, value: float | None, at: float) -> str:
    return _metric(name, [({}, value)] if value is not None else [], at)


def error(*, failed: bool) -> str:
    """The last series of the page: the scrape error. `failed`: there are no figures."""
    return _metric("resource_scrape_error", [({}, int(failed))])


def _metric(name: str, rows: Iterable[Row], at: float | None = None) -> str:
    return simple(_DECLARED[name], rows, at)
