"""The series of claims in /metrics (kubelet_volume_stats_*): what alerts on disks that run full are made of. Pure."""

from __future__ import annotations

from typing import Final

from actors.http_servers.exposition.text_format import Row, simple
from actors.shared.stats.sample import Disk, Sample

FIGURES: Final = {
    "capacity_bytes": "size of the volume in bytes",
    "available_bytes": "bytes that are free in the volume",
    "used_bytes": "bytes that are used in the volume",
    "inodes": "inodes that the volume can have",
    "inodes_free": "inodes that are free in the volume",
    "inodes_used": "inodes that are used in the volume",
}
"""The figure of a disk, which is the end of the metric's name, and what it is."""


def text(sample: Sample) -> str:
    """Each claim once, however many pods have it."""
    claims = _claims(sample)
    parts = []
    for figure, about in FIGURES.items():
        rows: list[Row] = [
            ({"namespace": namespace, "persistentvolumeclaim": claim}, disk[figure])
            for (namespace, claim), disk in sorted(claims.items())
            if figure in disk
        ]
        parts.append(simple(f"kubelet_volume_stats_{figure}", "gauge", about, rows))
    return "".join(parts)


def _claims(sample: Sample) -> dict[tuple[str, str], Disk]:
    return {
        (pod.sandbox.pod_namespace, disk["claim"]): disk
        for pod in sample.pods
        for disk in sample.disks.get(pod.sandbox.pod_uid, {}).get("volumes", {}).values()
        if disk.get("claim")
    }
