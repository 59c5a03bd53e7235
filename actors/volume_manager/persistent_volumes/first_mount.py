"""Markers in the directories of pods for the PersistentVolumes that they have mounted, removed with the directory.
Calls block, but only on the agent's own file system.
"""

from __future__ import annotations

import os
from pathlib import Path

from actors.shared.linux.presence import is_there
from actors.volume_manager.volume_paths import PLUGINS

_FOLDER = "kubernetes.io~local-volume"


def is_mounted(pods_dir: str, name: str) -> bool:
    """Whether any pod, this one included, has mounted the volume. Raises OSError if that cannot be seen."""
    with os.scandir(pods_dir) as pods:
        return any(is_there(f"{pod.path}/{PLUGINS}/{_FOLDER}/{name}") for pod in pods)


def is_noted(pod_dir: str, name: str) -> bool:
    """Whether this pod has mounted it. Raises OSError if that cannot be seen."""
    return is_there(f"{pod_dir}/{PLUGINS}/{_FOLDER}/{name}")


def note_mounted(pod_dir: str, name: str) -> None:
    """Raises OSError."""
    folder = f"{pod_dir}/{PLUGINS}/{_FOLDER}"
    os.makedirs(folder, 0o750, exist_ok=True)
    Path(folder, name).touch(0o600)
