"""What must hold on this host before anything is started, and what is only worth a warning.

Fatal here is what the kubelet takes as fatal: swap that is on, and cgroup v1, unless the configuration allows them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from .agent import Agent
from .errors import Problem


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that are judged."""

    uid: int
    cgroup_v2: bool
    swaps: tuple[str, ...]
    """Active swap devices and files."""
    runtime: Literal["socket", "nothing", "other"] = "socket"
    """What is at the endpoint of the runtime."""


def look_at_host(agent: Agent) -> Host:
    """This host, now."""
    try:
        lines = Path("/proc/swaps").read_text().splitlines()[1:]
    except OSError:
        lines = []
    return Host(
        uid=os.geteuid(),
        cgroup_v2=Path("/sys/fs/cgroup/cgroup.controllers").exists(),
        swaps=tuple(line.split()[0] for line in lines if line.strip()),
        runtime="socket" if agent.managed_runtime else _kind(agent.runtime_endpoint.removeprefix("unix://")),
    )


def _kind(path: str) -> Literal["socket", "nothing", "other"]:
    try:
        return "socket" if stat.S_ISSOCK(os.stat(path).st_mode) else "other"
    except OSError:
        return "nothing"


def problems(agent: Agent, host: Host) -> Iterator[Problem]:
    """What forbids a start."""
    if host.runtime == "other":
        path = agent.runtime_endpoint
        yield Problem("containerRuntimeEndpoint", path, "what is there is not a socket")
    if host.swaps and agent.config.failSwapOn:
        devices = ", ".join(host.swaps)
        yield Problem("failSwapOn", "true", f"swap is on ({devices}): turn it off, or set failSwapOn: false")
    if not host.cgroup_v2 and agent.config.failCgroupV1:
        yield Problem(
            "failCgroupV1", "true", "this host has cgroup v1: set failCgroupV1: false to run on it all the same"
        )


def doubts(agent: Agent, host: Host) -> Iterator[str]:
    """What deserves a warning."""
    if host.runtime == "nothing":
        yield f"containerRuntimeEndpoint = {agent.runtime_endpoint}: there is no socket yet; no pod runs until there is"
    if host.uid != 0:
        yield f"not run as root (uid {host.uid}): most of what a node agent does will be refused"
    if not host.cgroup_v2:
        yield "cgroup v1: Kubernetes is dropping it; swap for pods and MemoryQoS need cgroup v2"
        if agent.gate("MemoryQoS"):
            yield "MemoryQoS has no effect on cgroup v1"
    authentication = agent.config.authentication
    if agent.standalone and not authentication.x509.clientCAFile and not authentication.anonymous.enabled:
        yield "no API server and no clientCAFile: the main server refuses every caller, except at /healthz"
