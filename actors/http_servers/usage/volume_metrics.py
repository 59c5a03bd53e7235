"""The series of claims in /metrics (kubelet_volume_stats_*), for alerts on full disks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.shared.stats.sample import Disk, UsageSample
from supervision.protocol import MetricSample

FIGURES: Final = ("capacity_bytes", "available_bytes", "used_bytes", "inodes", "inodes_free", "inodes_used")
"""The figures of a disk; each is the end of a metric's name."""


def samples(sample: UsageSample) -> Iterator[MetricSample]:
    """A sample for each claim, however many pods use it."""
    for (namespace, claim), disk in sorted(_claims(sample).items()):
        labels = {"namespace": namespace, "persistentvolumeclaim": claim}
        for figure in FIGURES:
            if figure in disk:
                yield MetricSample("gauge", f"kubelet_volume_stats_{figure}", labels, disk[figure])
        if "abnormal" in disk:
            yield MetricSample("gauge", "kubelet_volume_stats_health_status_abnormal", labels, int(disk["abnormal"]))


def _claims(sample: UsageSample) -> dict[tuple[str, str], Disk]:
    return {
        (pod.sandbox.pod_namespace, disk["claim"]): disk
        for pod in sample.pods
        for disk in sample.disks.get(pod.sandbox.pod_uid, {}).get("volumes", {}).values()
        if disk.get("claim")
    }
