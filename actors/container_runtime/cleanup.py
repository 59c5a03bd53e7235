"""Removes a managed runtime from the host: pods, shims, mounts, network, cgroups, files.

Works from the host's state, never by asking the runtime, so also after a crash, a kill -9 of everything, or with a
containerd that does not start any more. Containers are killed, not asked.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from actors.shared.linux import mount_calls, mountinfo
from actors.shared.linux.removal import remove_tree
from supervision.time_scale import scaled

from . import processes
from .host import SEARCH_PATH
from .instance import ManagedRuntime
from .nat_rules import removal

RESULTS_DIR: Final = "/var/lib/cni/results"
"""The directory in which the CNI library keeps the answers of plug-ins."""
_COMMAND_SECONDS: Final = 30
_TABLES: Final = (("iptables-save", "iptables-restore"), ("ip6tables-save", "ip6tables-restore"))


def remove_pods(instance: ManagedRuntime, cgroups: Iterable[str] = ()) -> list[str]:
    """End all containers and shims, and undo their changes on the host. Idempotent. Returns an error for each thing
    that stays.

    containerd itself must not run. `cgroups`: paths of cgroups, the same in every hierarchy, that held the pods.
    """
    left: list[str] = []
    groups = processes.end_containers(instance)
    groups |= {group.strip("/") for group in cgroups}
    left += processes.remove_cgroups(groups)
    left += unmount_below(instance.state)
    left += remove_network(instance)
    for directory in (instance.containerd_state, instance.runc_state, instance.addresses_dir):
        _remove(directory)
    return left


def purge(instance: ManagedRuntime, cgroups: Iterable[str] = ()) -> list[str]:
    """End containerd as well, and delete everything: images too. Idempotent. Returns what could not be removed."""
    processes.end_containerd(instance)
    left = remove_pods(instance, cgroups)
    left += unmount_below(instance.root)
    for directory in (instance.state, instance.root):
        _remove(directory)
        if os.path.exists(directory):
            left.append(directory)
    return left


def _remove(directory: str) -> None:
    """As far as possible. Containers have written there: shutil.rmtree fails on a path of a thousand directories."""
    with suppress(OSError):
        remove_tree(directory)


def unmount_below(directory: str) -> list[str]:
    """Unmount all at or below it, the last first. Returns what stayed.

    Detach the mount, because another process may still use it; the kernel releases it when that process ends.
    """
    path = os.path.realpath(directory)
    for mount in mountinfo.below(mountinfo.read(), path):
        try:
            mount_calls.umount(mount.point, mount_calls.MNT_DETACH | mount_calls.UMOUNT_NOFOLLOW)
        except FileNotFoundError:
            continue  # was removed with its parent
        except OSError:
            continue  # reported below
    return [mount.point for mount in mountinfo.below(mountinfo.read(), path)]


def network_traces(instance: ManagedRuntime) -> list[str]:
    """The remains of the instance's pod network on the host: the bridge, rules, kept answers of CNI plug-ins."""
    found = [f"bridge {instance.network}"] if os.path.exists(f"/sys/class/net/{instance.network}") else []
    found += [
        f"{save.removesuffix('-save')} rules of {instance.network}" for save, _ in _TABLES if _rules(save, instance)
    ]
    return found + [str(path) for path in sorted(Path(RESULTS_DIR).glob(f"{instance.network}-*"))]


def _rules(save: str, instance: ManagedRuntime) -> str:
    """The input that removes the instance's NAT rules, '' if there are none. `save`: the command that lists them."""
    return removal(_run(save, "-t", "nat") or "", instance.network)


def remove_network(instance: ManagedRuntime) -> list[str]:
    """Remove the bridge, the rules and the kept answers of CNI plug-ins. Returns what could not be removed."""
    left = []
    for save, restore in _TABLES:
        rules = _rules(save, instance)
        if rules and _run(restore, "--wait", "--noflush", text=rules) is None:
            left.append(f"{save.removesuffix('-save')} rules of {instance.network}")
    if os.path.exists(f"/sys/class/net/{instance.network}") and _run("ip", "link", "delete", instance.network) is None:
        left.append(f"bridge {instance.network}")
    _remove_results(instance.network)
    return left


def _remove_results(network: str) -> None:
    """The results of this network, and of the loopback interface of the same sandboxes: <network>-<id>-<interface>."""
    for result in Path(RESULTS_DIR).glob(f"{network}-*"):
        sandbox = result.name.removeprefix(f"{network}-").rpartition("-")[0]
        for one in Path(RESULTS_DIR).glob(f"*-{sandbox}-*"):
            one.unlink(missing_ok=True)


def _run(*argv: str, text: str = "") -> str | None:
    """Its output; None if it failed or does not exist."""
    try:
        done = subprocess.run(
            argv,
            input=text,
            capture_output=True,
            text=True,
            timeout=scaled(_COMMAND_SECONDS),
            check=False,
            env={"PATH": SEARCH_PATH},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
