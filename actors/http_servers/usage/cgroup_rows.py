"""The rows of /metrics/cadvisor: each cgroup with its pod and container. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from actors.http_servers.exposition.text_format import Row, simple
from actors.shared.cri.stats import FileSystem
from actors.shared.kube.names import CONTAINER_NAME_LABEL
from actors.shared.metrics.usage import CADVISOR
from actors.shared.stats.sample import CgroupSample, Network, UsageSample
from supervision.metrics import Catalogue

Labels = dict[str, str]
_DECLARED: Final = Catalogue(CADVISOR)


class CgroupRow(msgspec.Struct, frozen=True):
    """A cgroup with its pod and container. `started`: seconds since 1970."""

    labels: Labels
    measured: CgroupSample
    started: float
    network: Network | None = None
    layer: FileSystem | None = None
    """The container's writable layer."""


def cgroup_rows(sample: UsageSample, images: Mapping[str, str]) -> list[CgroupRow]:
    """All cgroups of the sample, the node's first. `images`: of sandboxes, by ID."""
    host, boot = sample.host, sample.host.boot
    found = [CgroupRow(labels("/"), _root(sample), boot, Network(host.interfaces, host.default_interface))]
    found += [CgroupRow(labels(one.path), one, boot) for one in (*sample.tiers, *sample.system.values())]
    for pod in sample.pods:
        whose = {"namespace": pod.sandbox.pod_namespace, "pod": pod.sandbox.pod_name}
        started = pod.sandbox.created_ns / 1e9
        if pod.measured is not None:
            found.append(CgroupRow(labels(pod.measured.path, **whose), pod.measured, started))
        if pod.sandbox_measured is not None:
            one = pod.sandbox_measured
            sandbox = pod.sandbox
            name, image = sandbox.labels.get(CONTAINER_NAME_LABEL, ""), images.get(sandbox.id, "")
            own = labels(one.path, name=sandbox.id, image=image, container=name, **whose)
            found.append(CgroupRow(own, one, started, pod.network))
        for inner in pod.containers:
            container = inner.container
            image = container.image or container.image_ref
            own = labels(inner.measured.path, name=container.id, image=image, container=container.name, **whose)
            started = (container.started_ns or container.created_ns) / 1e9
            found.append(CgroupRow(own, inner.measured, started, layer=inner.layer))
    return found


def _root(sample: UsageSample) -> CgroupSample:
    """The node, whose limit is its memory."""
    memory = sample.host.memory.get("MemTotal")
    usage = msgspec.structs.replace(sample.root.usage, memory_limit_bytes=memory)
    return msgspec.structs.replace(sample.root, usage=usage)


def labels(
    path: str, *, name: str = "", image: str = "", namespace: str = "", pod: str = "", container: str = ""
) -> Labels:
    """The labels of a cgroup's series."""
    return {"container": container, "id": path, "image": image, "name": name, "namespace": namespace, "pod": pod}


def metric(name: str, rows: Sequence[Row], at: float | None = None) -> str:
    """A metric of the page; without a row, nothing."""
    return simple(_DECLARED[name], rows, at)
