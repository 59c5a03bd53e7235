"""The series of container logs in /metrics: the disk usage of each container's log files, in bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from supervision.protocol import MetricSample

NAME: Final = "kubelet_container_log_filesystem_used_bytes"
_BLOCK: Final = 512


def samples(pod_logs_dir: str) -> Iterator[MetricSample]:
    """A sample for each container with a log directory, `<namespace>_<pod>_<uid>/<container>`. A file that is removed
    meanwhile is left out.
    """
    for pod in _directories(pod_logs_dir):
        parts = pod.name.split("_")
        if len(parts) != 3:
            continue
        namespace, name, uid = parts
        for container in _directories(pod.path):
            labels = {"uid": uid, "namespace": namespace, "pod": name, "container": container.name}
            yield MetricSample("gauge", NAME, labels, _used_bytes(container.path))


def _directories(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted((one for one in entries if one.is_dir(follow_symlinks=False)), key=lambda one: one.name)
    except OSError:
        return []


def _used_bytes(directory: str) -> int:
    used = 0
    try:
        with os.scandir(directory) as entries:
            for one in entries:
                try:
                    used += one.stat(follow_symlinks=False).st_blocks * _BLOCK
                except OSError:
                    continue
    except OSError:
        return 0
    return used
