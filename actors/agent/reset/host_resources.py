"""Finds everything of an agent on its host, before a removal and after it. Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from actors.container_runtime import cleanup, processes
from actors.container_runtime.instance import ManagedRuntime
from actors.image_manager.pull_record_files import PULLED
from actors.shared.config.agent import CONTAINER_LOGS_DIR
from actors.shared.config.start import refused_starts, start_records
from actors.shared.linux import mountinfo
from supervision.unfinished_files import unfinished_files

from .cgroups import cgroups, others_in_cgroups
from .runtime_pods import RuntimePod
from .scope import Scope, names_in

KINDS: Final = ("pods", "containers", "processes", "mounts", "cgroups", "networks", "sockets", "files")
"""In the order in which they are shown."""
_STATE_FILES: Final = (
    "cpu_manager_state",
    "memory_manager_state",
    "allocated_pods_state",
    "actuated_pods_state",
    "dra_manager_state",
    "dra_health_state",
    "graceful_node_shutdown_state",
    "device-plugins/kubelet_internal_checkpoint",
    "device-plugins/DEPRECATION",
)
_SOCKETS: Final = ("pod-resources/kubelet.sock", "pods-api/pods-api.sock", "device-plugins/kubelet.sock")
_LOCK: Final = "lock"
_PLUGINS: Final = "plugins"
_OWN_PLUGINS: Final = f"{_PLUGINS}/kubernetes.io"
"""The directory in which the agent stages volumes, beside the sockets of drivers."""
_PULL_RECORDS: Final = os.path.dirname(PULLED)
_EMPTY: Final = (
    "plugins",
    "plugins_registry",
    "device-plugins",
    "pod-resources",
    "pods-api",
    "checkpoints",
    "pods",
    "pki",
)
"""Directories of the root directory that are removed when they are empty."""


class HostResources(msgspec.Struct, frozen=True):
    """Everything of the agent that was found."""

    found: dict[str, list[str]]
    """By kind, each kind in `KINDS`; empty kinds are left out."""
    stays: list[str]
    """Paths below the root directory that are not this agent's: a reset keeps them."""

    def __bool__(self) -> bool:
        return bool(self.found)


def look(scope: Scope, pods: Sequence[RuntimePod]) -> HostResources:
    """Find everything. `pods`: the pods of runtimes that are not managed. Raises OSError."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    found["pods"] = [str(pod) for pod in pods] + [*_without_sandbox(scope, pods)]
    for instance in [] if scope.keep_pods else scope.instances:
        found["containers"] += _containers(instance)
        found["processes"] += _processes(instance)
        found["networks"] += cleanup.network_traces(instance)
        found["sockets"] += [str(path) for path in processes.shim_sockets(instance) if path.exists()]
    found["mounts"] = [mount.point for mount in mounts(scope)]
    found["cgroups"] = sorted(cgroups(scope))
    found["sockets"] += [path for path in sockets(scope) if os.path.lexists(path)]
    found["files"] = [path for path in files(scope) if os.path.lexists(path)]
    return HostResources({kind: lines for kind, lines in found.items() if lines}, remaining(scope))


def mounts(scope: Scope) -> list[mountinfo.Mount]:
    """The mounts of pods, of staged volumes and of the managed containerd, in the order of removal.

    An operator's mount of one of these directories stays; a directory that is bound onto itself, as the agent does with
    those of pods and of plugins, does not count as one. That of plugins also stays while it holds mounts of others.
    """
    tops = [] if scope.keep_pods else [f"{scope.root_dir}/pods", f"{scope.root_dir}/{_OWN_PLUGINS}"]
    for instance in [] if scope.keep_pods else scope.instances:
        tops += [instance.root, instance.state]
    table = mountinfo.read()
    real = [os.path.realpath(top) for top in tops]
    own = [one for top in real for one in mountinfo.below(table, top) if one.point != top or _onto_itself(one, table)]
    plugins = os.path.realpath(f"{scope.root_dir}/{_PLUGINS}")
    rest = [] if scope.keep_pods else [one for one in mountinfo.below(table, plugins) if one not in own]
    is_ours = all(one.point == plugins and _onto_itself(one, table) for one in rest)
    return own + rest if is_ours else own


def _onto_itself(mount: mountinfo.Mount, table: Sequence[mountinfo.Mount]) -> bool:
    """Whether the mount shows the directory that it is mounted on."""
    for under in table:
        if under.id == mount.parent and under.device == mount.device:
            relative = os.path.relpath(mount.point, under.point)
            return os.path.normpath(os.path.join(under.root, relative)) == mount.root
    return False


def sockets(scope: Scope) -> Iterator[str]:
    """The directories of the actors' sockets, and the sockets in the root directory."""
    yield from dict.fromkeys(one.run_dir for one in scope.starts)
    if not scope.keep_pods:
        yield from (instance.state for instance in scope.instances)
        yield from (f"{scope.root_dir}/{name}" for name in _SOCKETS)


def files(scope: Scope) -> Iterator[str]:
    """Files and whole directories of the agent. A directory above them stays unless it becomes empty."""
    root = scope.root_dir
    yield from dict.fromkeys(str(refused_starts.file_of(one.run_dir)) for one in scope.starts)
    for directory in dict.fromkeys((root, f"{root}/device-plugins", *(one.cert_dir for one in scope.starts))):
        yield from unfinished_files(directory)
    if scope.keep_pods:  # a later start and a later reset need the records of the starts
        names = (name for name in names_in(scope.state_dir) if name not in (start_records.FILE, _LOCK))
        yield from (f"{scope.state_dir}/{name}" for name in names)
        return
    uids = set(scope.uids())
    yield from logs(scope, uids)
    yield from links(scope, uids)
    yield from (f"{root}/pods/{uid}" for uid in sorted(uids))
    for name in (_OWN_PLUGINS, _PULL_RECORDS, *_STATE_FILES):
        yield f"{root}/{name}"
    if f"{root}/checkpoints" in scope.made:
        yield f"{root}/checkpoints"
    yield from sorted({one.cert_dir for one in scope.starts} & scope.made)
    yield scope.state_dir  # last, because it records the other resources


def logs(scope: Scope, uids: set[str]) -> list[str]:
    """The log directories of these pods, `<namespace>_<name>_<uid>`."""
    places = dict.fromkeys(one.pod_logs_dir for one in scope.starts)
    return [f"{top}/{name}" for top in places for name in names_in(top) if name.rpartition("_")[2] in uids]


def links(scope: Scope, uids: set[str]) -> Iterator[str]:
    """The links for log collectors that lead into these pods' log directories."""
    for top in dict.fromkeys((*(one.container_logs_dir for one in scope.starts), CONTAINER_LOGS_DIR)):
        for name in names_in(top):
            with suppress(OSError):
                directory = os.path.dirname(os.path.dirname(os.readlink(f"{top}/{name}")))
                if os.path.basename(directory).rpartition("_")[2] in uids:
                    yield f"{top}/{name}"


def emptied_directories(scope: Scope) -> list[str]:
    """Directories to remove if they are empty, the deepest first."""
    if scope.keep_pods:
        return []
    made = sorted(scope.made, key=len, reverse=True)
    return [*(f"{scope.root_dir}/{name}" for name in _EMPTY), *made, scope.root_dir]


def remaining(scope: Scope) -> list[str]:
    """What a reset keeps: files of others in the root directory, and cgroups that others use."""
    root, own = scope.root_dir, {*files(scope), *sockets(scope)}
    if scope.keep_pods:
        return [path for name in names_in(root) if (path := f"{root}/{name}") not in (*own, scope.state_dir)]
    found = list(others_in_cgroups(scope))
    for name in names_in(root):
        path = f"{root}/{name}"
        if path in own:
            continue
        if name in _EMPTY:
            found += [f"{path}/{below}" for below in names_in(path) if f"{path}/{below}" not in own]
        else:
            found.append(path)
    return found


def _without_sandbox(scope: Scope, pods: Sequence[RuntimePod]) -> Iterator[str]:
    """Pods that have a directory but no sandbox in a runtime that is not managed."""
    listed = {pod.uid for pod in pods}
    named = {path.rpartition("_")[2]: os.path.basename(path) for path in logs(scope, set(scope.uids()))}
    for uid in scope.uids():
        if uid not in listed:
            namespace, _, rest = named.get(uid, "").partition("_")
            name = rest.removesuffix(f"_{uid}")
            yield f"{namespace}/{name} ({uid})" if name else uid


def _containers(instance: ManagedRuntime) -> list[str]:
    return names_in(instance.tasks)


def _processes(instance: ManagedRuntime) -> list[str]:
    own = (instance.config_file, instance.socket)
    return [f"{pid} {os.path.basename(argv[0])}" for pid, argv in processes.commands() if set(own) & set(argv)]
