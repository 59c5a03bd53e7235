"""Checks this host before the start: errors and warnings.

Errors are what is fatal for the kubelet: a watchdog that is too short, unreadable certificates, swap or cgroup v1
unless the configuration allows them, and kernel settings that protectKernelDefaults rejects.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.endpoints import socket_of
from actors.shared.config.errors import ConfigProblem, shown
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.sources.layers import read_bounded
from actors.shared.linux import kernel_files
from actors.shared.linux.path_owners import foreign_part

from . import kernel_tunables

MICROSECONDS: Final = 1_000_000


class PreflightHost(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about the host."""

    uid: int
    cgroup_v2: bool
    swaps: tuple[str, ...]
    """Active swap devices and files."""
    runtime: Literal["socket", "nothing", "other"] = "socket"
    """The kind of file at the runtime's endpoint."""
    unusable: dict[str, str] = {}
    """The problems of certificate and key files, by field."""
    tunables: dict[str, int | None] = {}
    """The kernel settings that differ from the expected values."""
    watchdog: str = ""
    """systemd's WATCHDOG_USEC."""
    foreign: dict[str, str] = {}
    """By flag: why other users can change the files in its directory."""
    exposed: dict[str, str] = {}
    """By field or flag: why other users can change what decides about pods."""


def look_at_host(agent: Agent) -> PreflightHost:
    """The facts about this host now."""
    try:
        lines = Path("/proc/swaps").read_text().splitlines()[1:]
    except OSError:
        lines = []
    return PreflightHost(
        uid=os.geteuid(),
        cgroup_v2=kernel_files.has_cgroup_v2(),
        swaps=tuple(line.split()[0] for line in lines if line.strip()),
        runtime="socket" if agent.managed_runtime else _kind(socket_of(agent.runtime_endpoint)),
        unusable=dict(_unusable(agent.config)),
        tunables=kernel_tunables.differing() if agent.config.protectKernelDefaults else {},
        watchdog=os.environ.get("WATCHDOG_USEC", "") if _has_own_watchdog() else "",
        foreign=dict(_foreign(agent)),
        exposed=dict(_exposed(agent)),
    )


def _foreign(agent: Agent) -> Iterator[tuple[str, str]]:
    """For directories with the same reason, the first flag only."""
    known = {""}
    for flag, path in (("--root-dir", agent.root_dir), ("--run-dir", agent.run_dir), ("--cert-dir", agent.cert_dir)):
        with suppress(OSError):  # making the directory will fail, with the reason
            if (reason := foreign_part(path)) not in known:
                known.add(reason)
                yield flag, reason


def _exposed(agent: Agent) -> Iterator[tuple[str, str]]:
    directories = {"staticPodPath": agent.config.staticPodPath, "podLogsDir": agent.pod_logs_dir}
    files = {"--config": agent.config_file, "--policy": agent.policy_file, "--kubeconfig": agent.kubeconfig}
    # of a directory, also whether anybody may put a file in it
    for name, path in {**files, **{name: path and f"{path}/-" for name, path in directories.items()}}.items():
        with suppress(OSError):
            if path and (reason := foreign_part(path)):
                yield name, reason


def _has_own_watchdog() -> bool:
    return os.environ.get("WATCHDOG_PID") in (None, "", str(os.getpid()))


def _unusable(config: KubeletConfiguration) -> Iterator[tuple[str, str]]:
    wanted = (
        ("authentication.x509.clientCAFile", config.authentication.x509.clientCAFile, b"CERTIFICATE-----"),
        ("tlsCertFile", config.tlsCertFile, b"CERTIFICATE-----"),
        ("tlsPrivateKeyFile", config.tlsPrivateKeyFile, b"PRIVATE KEY-----"),
    )
    for field, path, mark in wanted:
        if not path:
            continue
        try:
            if mark not in read_bounded(path):
                yield field, f"contains no PEM block {mark.decode().strip('-')}"
        except (OSError, ValueError) as error:
            yield field, f"cannot be read: {getattr(error, 'strerror', None) or error}"


def _kind(path: str) -> Literal["socket", "nothing", "other"]:
    try:
        return "socket" if stat.S_ISSOCK(os.stat(path).st_mode) else "other"
    except OSError:
        return "nothing"


def problems(agent: Agent, host: PreflightHost) -> Iterator[ConfigProblem]:
    """The problems that prevent the start, in the kubelet's order."""
    if host.watchdog and not (host.watchdog.isdecimal() and int(host.watchdog) > MICROSECONDS):
        yield ConfigProblem("WATCHDOG_USEC", host.watchdog, "must be a number of microseconds above one second")
    for flag, reason in host.foreign.items():
        rule = f"{reason}, so that others can change the agent's files: give a directory that only its user can change"
        yield ConfigProblem(flag, "", rule)
    for field, wrong in host.unusable.items():
        yield ConfigProblem(field, shown(lookup(agent.config, field)), wrong)
    if host.runtime == "other":
        path = agent.runtime_endpoint
        yield ConfigProblem("containerRuntimeEndpoint", path, "it exists but is not a socket")
    if host.swaps and agent.config.failSwapOn:
        devices = ", ".join(host.swaps)
        yield ConfigProblem("failSwapOn", "true", f"swap is on ({devices}): turn it off, or set failSwapOn: false")
    if not host.cgroup_v2 and agent.config.failCgroupV1:
        yield ConfigProblem("failCgroupV1", "true", "this host has cgroup v1: set failCgroupV1: false to run anyway")
    for name, value in host.tunables.items():
        rule = (
            f"the kernel's {name} must be {kernel_tunables.WANTED[name]}, it is {'unknown' if value is None else value}"
        )
        yield ConfigProblem("protectKernelDefaults", "true", rule)


def lookup(config: KubeletConfiguration, field: str) -> object:
    """The value at a path of attributes."""
    found: object = config
    for part in field.split("."):
        found = getattr(found, part)
    return found


def warnings(agent: Agent, host: PreflightHost) -> Iterator[str]:
    """The warnings."""
    if host.uid != 0:
        yield f"not run as root (uid {host.uid}): most operations of a node agent will fail"
    for name, reason in host.exposed.items():
        yield f"{name}: {reason}: who does that is root on this node"
    if not host.cgroup_v2:
        yield "cgroup v1: Kubernetes is dropping it; swap for pods and MemoryQoS need cgroup v2"
        if agent.gate("MemoryQoS"):
            yield "MemoryQoS has no effect on cgroup v1"
    if agent.config.memorySwap.swapBehavior == "LimitedSwap" and not host.swaps:
        yield "memorySwap.swapBehavior: LimitedSwap has no effect, as this host has no swap"
    authentication = agent.config.authentication
    if agent.standalone and not authentication.x509.clientCAFile and not authentication.anonymous.enabled:
        yield "no API server and no clientCAFile: the main server refuses every caller, except at /healthz"
    if agent.standalone and authentication.x509.clientCAFile and agent.config.authorization.mode == "Webhook":
        yield "authorization.mode: no API server to ask: every client certificate of clientCAFile is allowed everything"
