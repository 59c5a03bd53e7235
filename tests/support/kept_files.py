"""Every file that the agent keeps: where it is and who writes it, for the fault matrix, which removes each.

A module that writes one and has no row, and a file that a real agent has and no row matches, fail a test."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import msgspec

SOURCES: Final = Path(__file__).parents[2]
WRITERS: Final = frozenset({"write_private", "StateFile", "Journal"})
"""All private state is written by one of these."""


class Kept(msgspec.Struct, frozen=True):
    """One kind of file."""

    pattern: str
    """Below the root directory (`root/`) or the run directory (`run/`), or beside that."""
    writer: str
    """The module."""
    when: str = ""
    """What it takes for the file to be there; '' for always, with two pods running."""


KEPT: Final = (
    Kept("root/troupelet/lock", "supervision/fork_server/lock.py"),
    Kept("run/lock", "supervision/fork_server/lock.py"),
    Kept("run/names/*#*", "supervision/messaging/names.py"),
    Kept("run/names/*", "supervision/messaging/names.py"),
    Kept("root/troupelet/incidents.jsonl*", "supervision/incidents/incident_file.py"),
    Kept("run/quarantine/*/current", "supervision/quarantine.py"),
    Kept("run/quarantine/*/current", "actors/shared/input_quarantine.py"),
    Kept("run/quarantine/*/current", "actors/pod_workers/quarantine.py"),
    Kept("run/quarantine/*/current", "actors/pod_config/sources/manifest_directory.py"),
    Kept("run/quarantine/*/crashes", "supervision/quarantine.py", when="a death on an input"),
    Kept("root/troupelet/places.json", "actors/shared/config/start/start_records.py"),
    Kept("run-refused", "actors/shared/config/start/refused_starts.py", when="a refused start"),
    Kept("root/troupelet/config/*.json", "actors/shared/config/sources/checkpoints.py"),
    Kept("root/troupelet/config/session", "actors/config_controller/session.py", when="a changed configuration"),
    Kept("root/troupelet/last_good*", "actors/pod_config/sources/last_good.py", when="a manifest that turns bad"),
    Kept("root/troupelet/containerd/config.toml", "actors/container_runtime/host_setup.py"),
    Kept("root/troupelet/containerd/config.toml", "supervision/fork_server/programs.py"),
    Kept("root/troupelet/containerd/net.d/*", "actors/container_runtime/host_setup.py"),
    Kept("root/troupelet/containerd/images.json", "actors/container_runtime/image_import.py"),
    Kept("root/troupelet/containerd/containerd.log", "actors/container_runtime/program.py"),
    Kept("root/pki/kubelet.key", "actors/cert_manager/self_signed.py"),
    Kept("root/pki/kubelet.crt", "actors/cert_manager/self_signed.py"),
    Kept("root/pki/kubelet-*", "actors/cert_manager/certificate_store.py", when="a signed certificate"),
    Kept("root/pki/*.key.tmp", "actors/cert_manager/signing_keys.py", when="a certificate request"),
    Kept("root/pod-resources/kubelet.sock", "actors/http_servers/pod_resources_server.py"),
    Kept("root/pods-api/pods-api.sock", "actors/http_servers/pods_server.py", when="the gate PodsAPI"),
    Kept("root/allocated_pods_state", "actors/container_manager/resizes/pod_resource_records.py"),
    Kept(
        "root/allocated_pods_state",
        "actors/container_manager/resizes/earlier_records.py",
        when="files of an earlier version",
    ),
    Kept("root/actuated_pods_state", "actors/container_manager/resizes/pod_resource_records.py"),
    Kept("root/pods/*/etc-hosts", "actors/pod_workers/containers/files.py"),
    Kept("root/pods/*/containers/*/*", "actors/pod_workers/containers/files.py"),
    Kept(
        "root/pods/*/volumes/*/vol_data.json", "actors/volume_manager/csi/record_file.py", when="a volume of a driver"
    ),
    Kept(
        "root/pods/*/plugins/*/persistent_volumes.json",
        "actors/volume_manager/persistent_volumes/lookup.py",
        when="a claim",
    ),
    Kept("root/plugins/kubernetes.io/*/iscsi.json", "actors/volume_manager/disks/records.py", when="a network disk"),
    Kept("root/plugins/kubernetes.io/*/.*.json", "actors/volume_manager/disks/records.py", when="a network disk"),
    Kept("root/pods/*/plugins/kubernetes.io~*/*", "actors/volume_manager/disks/uses.py", when="a network disk"),
    Kept("run/evictions", "actors/eviction_manager/pod_evictions.py"),
    Kept(
        "root/troupelet/status_manager/probes.json",
        "actors/status_manager/readiness/readiness_file.py",
        when="a probed pod",
    ),
    Kept("root/graceful_node_shutdown_state", "actors/shutdown_manager/shutdown_state.py", when="a shutdown"),
    Kept("root/graceful_node_shutdown_state", "actors/shutdown_manager/actor.py", when="a shutdown"),
    Kept("root/cpu_manager_state", "actors/container_manager/state_store.py"),
    Kept("root/cpu_manager_state", "actors/container_manager/cpu/earlier_state.py", when="a kubelet before 1.18"),
    Kept("root/memory_manager_state", "actors/container_manager/state_store.py", when="the policy Static"),
    Kept("run/state/*", "actors/shared/state_files.py"),
    Kept("run/state/machine", "actors/container_manager/topology/kept_machine.py", when="a policy for hardware"),
    Kept("root/pods/*/userns", "actors/container_manager/user_namespaces.py", when="a pod with a user namespace"),
    Kept(
        "root/device-plugins/kubelet_internal_checkpoint", "actors/device_manager/checkpoint_file.py", when="a device"
    ),
    Kept("run/device-plugins.json", "actors/device_manager/earlier_plugins.py", when="a device plug-in"),
    Kept("root/dra_manager_state", "actors/device_manager/dra/claim_store.py", when="a resource claim"),
    Kept("root/dra_health_state", "actors/device_manager/dra/health_watch.py", when="a driver of resource claims"),
    Kept("root/device-plugins/DEPRECATION", "actors/device_manager/plugin_directory.py"),
    Kept("root/device-plugins/kubelet.sock", "actors/device_manager/actor.py", when="device plug-ins"),
    Kept("root/image_manager/*", "actors/image_manager/pull_record_files.py", when="a pulled image"),
)


def rows_of(path: str) -> list[Kept]:
    """The rows of the first pattern that matches a path, which begins with `root/` or `run/`."""
    first = next((row.pattern for row in KEPT if fnmatch(path, row.pattern)), None)
    return [row for row in KEPT if row.pattern == first]


def writing_modules() -> set[str]:
    """Each module of ours that writes private state, as a path below the sources."""
    found = set()
    for package in ("actors", "supervision"):
        for path in (SOURCES / package).rglob("*.py"):
            if path.name != "state_file.py" and _writes(path):
                found.add(str(path.relative_to(SOURCES)))
    return found


def _writes(path: Path) -> bool:
    text = path.read_text()
    if not any(name in text for name in WRITERS):
        return False
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id in WRITERS for one in calls)


def kept_files(root: Path, run: Path) -> Iterator[tuple[str, Path]]:
    """Each file of an agent but those of its containerd and of its pods' volumes, by its path in a row.

    os.walk passes over a directory that a process of the agent removes meanwhile; Path.rglob raises then."""
    for name, top in (("root", root), ("run", run)):
        files = (Path(directory, file) for directory, _, names in os.walk(top) for file in names)
        for path in sorted(files):
            below = path.relative_to(top)
            if path.is_dir() or below.match("troupelet/containerd/data/**") or "containerd/data" in str(below):
                continue
            if not ("volumes" in below.parts and below.name not in ("vol_data.json",)):
                yield f"{name}/{below}", path
