"""Checks of the host at start: reservations, cgroups, the runtime. validation.py validates the files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate

from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigProblem
from actors.shared.linux.directories import nearest_directory
from supervision.errors import error_reason

from .validation import kubeconfigs


def problems(agent: Agent, host: str = "") -> Iterator[ConfigProblem]:
    """The problems that prevent the start, in the kubelet's order. `host`: the root directory of a fake host."""
    yield from kubeconfigs(agent)
    yield from _controllers(host)
    yield from _cgroup_root(agent, host)
    yield from _reserved_cgroups(agent, host)
    yield from _reservations(agent)
    yield from _claims(agent)
    yield from _hardware(agent, host)


def warnings(agent: Agent) -> Iterator[str]:
    """The warnings: no pod runs without a runtime, but one may be started later."""
    if not agent.managed_runtime:
        from actors.container_runtime.socket_check import absence

        if gone := absence(agent.runtime_endpoint):
            yield f"containerRuntimeEndpoint: {gone}"


def missing_cgroups(agent: Agent) -> list[str]:
    """The directories of cgroupRoot and kubeletCgroups, in each hierarchy, that are not there yet: the agent and its
    runtime will make them. Those of a cgroupRoot that is no name for the driver are left out."""
    config = agent.config
    if not (agent.cgroup_root.strip("/") or config.kubeletCgroups):
        return []
    from actors.container_runtime.processes import hierarchies
    from actors.shared.linux.cgroup_names import CgroupNameError, parse_root, path_of, plain_path

    wanted = []
    with suppress(CgroupNameError):
        wanted += [plain_path(config.kubeletCgroups)] if config.kubeletCgroups else []
    with suppress(CgroupNameError):
        wanted.append(path_of(parse_root(agent.cgroup_root, config.cgroupDriver), config.cgroupDriver))
    try:
        mounted = hierarchies()
    except OSError:
        return []  # the container manager says so
    found = [
        f"{hierarchy}/{part}"
        for hierarchy in mounted
        for path in wanted
        for part in accumulate(path.strip("/").split("/"), "{}/{}".format)
    ]
    return [path for path in dict.fromkeys(found) if not os.path.isdir(path)]


def enter_cgroup(agent: Agent) -> Iterator[str]:
    """Move this process, and with it its future children, into kubeletCgroups. Returns a warning on failure."""
    if not agent.config.kubeletCgroups:
        return
    from actors.shared.linux.cgroup_names import plain_path
    from actors.shared.linux.cgroup_tree import find

    path = plain_path(agent.config.kubeletCgroups)
    try:
        cgroups = find()
        cgroups.create(path)
        cgroups.enter(path, os.getpid())
    except OSError as error:
        yield f"kubeletCgroups: the agent is not in {path}: {error_reason(error)}"


def _reservations(agent: Agent) -> Iterator[ConfigProblem]:
    """Reservations and hard eviction thresholds together must not exceed the capacity."""
    from actors.container_manager import node_resources

    config = agent.config
    try:
        capacity = node_resources.capacity(config, nearest_directory(agent.root_dir))
    except OSError as error:
        yield ConfigProblem("--root-dir", agent.root_dir, f"cannot be measured: {error.strerror}")
        return
    counts = node_resources.counts_thresholds(agent)
    for name, amount in node_resources.withheld(capacity, config, with_thresholds=counts).items():
        if name in capacity and amount > capacity[name]:
            what = "kubeReserved, systemReserved and evictionHard" if counts else "kubeReserved and systemReserved"
            rule = f"{what} are {amount} together, this host has {capacity[name]}"
            yield ConfigProblem(name, "", f"{rule}{' (thousandths of a core)' if name == 'cpu' else ''}")


def _hardware(agent: Agent, host: str) -> Iterator[ConfigProblem]:
    """The state files of the managers of CPUs and memory must be usable on this machine."""
    from actors.container_manager import hardware_start

    yield from hardware_start.problems(agent, host)


def _controllers(host: str) -> Iterator[ConfigProblem]:
    """Check that pods can be limited. On cgroup v2 `status` says it, as the kubelet starts there."""
    from actors.shared.linux.cgroup_tree import find

    from .missing_controllers import missing_controllers

    try:
        missing = missing_controllers(find(host), f"{host}/proc")
    except OSError:
        return  # the container manager says so
    if missing is not None and missing.prevents_start:
        yield ConfigProblem("cgroups", "", f"{missing.text}: {missing.remedy}")


def _cgroup_root(agent: Agent, host: str) -> Iterator[ConfigProblem]:
    """Check cgroupRoot: on cgroup v2 pods cannot be limited below a cgroup with processes."""
    if not agent.config.cgroupsPerQOS or not agent.cgroup_root.strip("/"):
        return
    from actors.shared.linux.cgroup_names import parse_root, path_of
    from actors.shared.linux.cgroup_tree import find

    driver = agent.config.cgroupDriver
    try:
        occupied = find(host).occupied(path_of(parse_root(agent.cgroup_root, driver), driver))
    except OSError:
        return  # the container manager says so
    if occupied:
        rule = f"must not be below a cgroup with processes on cgroup v2: {occupied} has some, move them elsewhere"
        yield ConfigProblem("cgroupRoot", agent.cgroup_root, rule)


def _reserved_cgroups(agent: Agent, host: str) -> Iterator[ConfigProblem]:
    """The cgroup of an enforced reservation must exist: the operator creates it and moves the processes into it."""
    if not {entry for entry in agent.config.enforceNodeAllocatable if "reserved" in entry}:
        return
    from actors.container_manager.cgroups.reserved_cgroups import reserved_cgroups
    from actors.shared.linux.cgroup_tree import find

    try:
        cgroups = find(host)
        for _, field, path, _ in reserved_cgroups(agent.config, agent.config.cgroupDriver):
            if not cgroups.anywhere(path):
                yield ConfigProblem(field, path, "there is no such cgroup: make it before its reservation is enforced")
    except OSError as error:
        yield ConfigProblem("enforceNodeAllocatable", "", f"{error.strerror}")


def _claims(agent: Agent) -> Iterator[ConfigProblem]:
    """The record of prepared claims must be readable: otherwise drivers would never be told to unprepare some
    claims."""
    from actors.device_manager.dra.claim_store import ClaimStore
    from actors.shared.state_files import StateFiles

    if error := ClaimStore(StateFiles(agent.root_dir, agent.run_dir)).error():
        yield ConfigProblem("--root-dir", agent.root_dir, str(error), damaged=error.damaged)
