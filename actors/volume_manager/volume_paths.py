"""Paths of a pod's volumes: pods/<uid>/volumes/<plugin>/<volume>, as other node tools expect them."""

from __future__ import annotations

import os
import re
from typing import Final

from actors.shared.config.agent import Agent

SUBPATHS: Final = "volume-subpaths"
PLUGINS: Final = "plugins"
DEVICES: Final = "volumeDevices"
VOLUME_DIRECTORIES: Final = ("volumes", SUBPATHS, DEVICES, PLUGINS)
"""Directories in a pod's directory that belong to the volume manager."""
_UID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,251}[a-z0-9])?\Z")


def is_uid(text: str) -> bool:
    """Whether the text can be a pod's UID, which names its directory."""
    return _UID.match(text) is not None


def is_name(text: str) -> bool:
    """Whether the text can be the name of a volume or container (a DNS label), which names its directory."""
    return _NAME.match(text) is not None


def real_path(path: str) -> str:
    """The path as in the mount table. For paths on the agent's own file system, where it does not hang."""
    return os.path.realpath(path)


def shared_paths(agent: Agent) -> tuple[str, ...]:
    """Directories that are shared mounts, as in the mount table."""
    return real_path(agent.pods_dir), real_path(agent.plugins_dir)


def volume_path(pod_dir: str, plugin: str, volume: str) -> str:
    """`plugin` as in `kubernetes.io/empty-dir`."""
    return f"{pod_dir}/volumes/{plugin.replace('/', '~')}/{volume}"


def device_link(pod_dir: str, plugin_dir: str, volume: str) -> str:
    """`plugin_dir` as in `kubernetes.io~csi`."""
    return f"{pod_dir}/{DEVICES}/{plugin_dir}/{volume}"


def subpath_path(pod_dir: str, volume: str, container: str, index: int) -> str:
    """`volume`: the kubelet's name of it, by which a kubelet that takes over unmounts it."""
    return f"{pod_dir}/{SUBPATHS}/{volume}/{container}/{index}"
