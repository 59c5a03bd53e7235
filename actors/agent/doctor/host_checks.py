"""Kernel, cgroups, swap, ports and static pods of this host."""

from __future__ import annotations

import os
import platform
import re
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from actors.agent import start_checks
from actors.agent.host_files import missing_manifests
from actors.agent.missing_controllers import LIMITING, missing_controllers
from actors.agent.other_kubelets import kubelet_here
from actors.agent.remedies import of_manifests, of_records
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigProblem
from actors.shared.config.start import preflight, start_records
from actors.shared.linux.cgroup_tree import find
from actors.shared.linux.services import ordered
from actors.shared.linux.systemd import booted

from .disk_checks import disks
from .dns_checks import dns
from .finding import Finding, failure, ok, unknown, warning

OLDEST_KERNEL: Final = (4, 19)
"""The oldest long-term kernel that Kubernetes names."""
_OWN_CHECKS: Final = frozenset(
    {"cgroups", "failCgroupV1", "failSwapOn", "authentication.x509.clientCAFile", "tlsCertFile"}
)
"""What the start checks and the doctor does itself, by the field or the subject: cgroups, swap, certificates."""
_FORWARDING: Final = "proc/sys/net/ipv4/ip_forward"


def user(uid: int) -> Iterator[Finding]:
    """The agent mounts, makes namespaces and cgroups."""
    if uid == 0:
        yield ok("user", "root")
    else:
        yield failure("user", f"uid {uid}, not root", "sudo supervise doctor")


def kernel(release: str, root: str = "/") -> Iterator[Finding]:
    """`release` as in uname -r."""
    found = re.match(r"(\d+)\.(\d+)", release)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < OLDEST_KERNEL:
        yield failure(
            "kernel", f"{release} is older than {OLDEST_KERNEL[0]}.{OLDEST_KERNEL[1]}", "install a newer kernel"
        )
    else:
        yield ok("kernel", release)
    try:
        forwards = Path(root, _FORWARDING).read_text().strip() == "1"
    except OSError as error:
        yield unknown("IP forwarding", f"{error.strerror}")
        return
    if forwards:
        yield ok("IP forwarding", "on")
    else:
        yield warning("IP forwarding", "off: pods reach nobody outside this node", "sysctl -w net.ipv4.ip_forward=1")


def cgroups(driver: str, root: str = "", *, refused: bool = False) -> Iterator[Finding]:
    """`root`: the root directory of a fake host. `refused`: failCgroupV1 is set, and no agent runs."""
    try:
        tree = find(root)
    except OSError as error:
        yield failure("cgroups", f"{error.strerror}", "mount -t cgroup2 none /sys/fs/cgroup")
        return
    missing = missing_controllers(tree, f"{root}/proc")
    version = "v2" if all(hierarchy.unified for hierarchy in tree.hierarchies) else "v1"
    limiting = [one.path for one in tree.hierarchies if not one.controllers.isdisjoint(LIMITING)]
    fixed = [*filter(_is_read_only, limiting)]
    if fixed:
        text = f"{version}, mounted read-only: {', '.join(fixed)}: no pod can be limited"
        yield failure(
            "cgroups", text, f"mount -o remount,rw {shlex.quote(fixed[0])}; in a container: run it privileged"
        )
    elif missing is not None:
        yield failure("cgroups", missing.text, missing.remedy)
    elif version == "v1" and refused:
        text = "v1, and failCgroupV1 is true: the agent does not start"
        yield failure("cgroups", text, f"{_boot_with_v2(root)}, or failCgroupV1: false")
    elif version == "v1":
        text = f"v1, driver {driver}: it works here, but Kubernetes is dropping it"
        yield warning("cgroups", text, _boot_with_v2(root))
    else:
        yield ok("cgroups", f"{version}, driver {driver}")
    if driver == "systemd" and not booted(root):
        text = "cgroupDriver is systemd, and systemd does not run this host"
        yield warning("cgroups", text, "cgroupDriver: cgroupfs, here and in the runtime")


def _boot_with_v2(root: str) -> str:
    """The parameter of the kernel, by who mounts the hierarchies."""
    return f"boot with cgroup v2: {'systemd.unified_cgroup_hierarchy=1' if booted(root) else 'cgroup_no_v1=all'}"


def _is_read_only(path: str) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False  # that of a made-up host


def swap(swaps: str, *, allowed: bool) -> Iterator[Finding]:
    """`swaps`: the text of /proc/swaps. `allowed`: not failSwapOn."""
    areas = [line.split()[0] for line in swaps.splitlines()[1:] if line.split()]
    if not areas:
        yield ok("swap", "off")
    elif allowed:
        yield ok("swap", f"on ({', '.join(areas)}), and failSwapOn is false")
    else:
        yield failure("swap", f"on: {', '.join(areas)}", "swapoff -a, or failSwapOn: false")


def ports(agent: Agent) -> Iterator[Finding]:
    """Whether the ports are free for an agent that is not running."""
    config = agent.config
    wanted = {"port": (config.address, config.port), "healthzPort": (config.healthzBindAddress, config.healthzPort)}
    wanted["readOnlyPort"] = (config.address, config.readOnlyPort)
    taken = {field: port for field, (address, port) in wanted.items() if port and not _is_free(address, port)}
    if taken:
        named = ", ".join(f"{field} {port}" for field, port in taken.items())
        look = " or ".join(f"sport = :{port}" for port in taken.values())
        yield failure("ports", f"taken by somebody else: {named}", f"ss -ltnp '{look}': end who listens, or set others")
    else:
        yield ok("ports", ", ".join(f"{port} free" for _, port in wanted.values() if port))


def _is_free(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((address, port))
        except OSError:
            return False
    return True


def static_pods(path: str) -> Iterator[Finding]:
    """`path`: staticPodPath. A missing directory is only a warning: it may be made later."""
    if text := missing_manifests(path):
        yield warning("manifests", f"staticPodPath: {text}", of_manifests(path))


def records(state_dir: str, *, running: bool) -> Iterator[Finding]:
    """The record of the agent's starts, by which `reset` finds what they left. The next start writes it again."""
    if text := start_records.problem(state_dir):
        lost = f"{text}: `supervise reset` does not know what to remove"
        yield warning("records", lost, of_records(running=running))


def start_problems(agent: Agent) -> Iterator[ConfigProblem]:
    """The problems of this host that would prevent a start now."""
    yield from preflight.problems(agent, preflight.look_at_host(agent))
    yield from start_checks.problems(agent)
    yield from kubelet_here(agent.root_dir)


def start(agent: Agent, reported: Sequence[ConfigProblem]) -> Iterator[Finding]:
    """The problems that would prevent a start now, except those in `reported` and those that other checks find."""
    kubelets = [*kubelet_here(agent.root_dir)]
    stop = "systemctl disable --now kubelet" if booted() else ordered("kubelet", "stop")
    for problem in kubelets:
        yield failure("start", str(problem), f"{stop}: its pods go on")
    known = {str(problem) for problem in (*reported, *kubelets)}
    for problem in start_problems(agent):
        if problem.path not in _OWN_CHECKS and str(problem) not in known:
            yield failure("start", str(problem), _remedy_of(problem))


def _remedy_of(problem: ConfigProblem) -> str:
    """What mends a problem of this host."""
    if problem.damaged:
        return f"drain the node, then rm {shlex.quote(problem.damaged)}"
    return f"supervise config explain {problem.path}" if problem.path else ""


def restart(agent: Agent, reported: Sequence[ConfigProblem]) -> Iterator[Finding]:
    """Problems on this host for which an agent that runs would not start again with its files as they are, except those
    in `reported`."""
    known = {str(problem) for problem in reported}
    for problem in start_checks.problems(agent):
        if problem.path not in _OWN_CHECKS and str(problem) not in known:
            text = f"the agent would not start again: {problem}"
            yield failure("start", text, "correct it before a restart, or supervise config rollback")


def checks(
    agent: Agent, *, running: bool, images: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Iterator[Finding]]:
    """All checks of this host. `running`: the agent runs and listens on its ports. `images`: as for `disks`."""
    yield user(os.geteuid())
    yield kernel(platform.release())
    yield cgroups(agent.config.cgroupDriver, refused=agent.config.failCgroupV1 and not running)
    yield swap(_swaps(), allowed=not agent.config.failSwapOn)
    yield disks(agent, images)
    if not running:
        yield ports(agent)
    yield dns(agent)
    yield static_pods(agent.config.staticPodPath)
    yield records(agent.state_dir, running=running)


def _swaps() -> str:
    try:
        return Path("/proc/swaps").read_text()
    except OSError:
        return ""
