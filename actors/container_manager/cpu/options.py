"""The options of the static policy, and which exclude each other. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from actors.container_manager.topology.machine import MachineTopology
from actors.shared.config.fields.booleans import TRUE

_APART: Final = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)
"""Options that exclude each other, in the order in which the kubelet names them."""


class CpuOptions(msgspec.Struct, frozen=True, kw_only=True):
    """cpuManagerPolicyOptions."""

    full_cores: bool = False
    """full-pcpus-only: a container gets whole cores or is refused."""
    strict_reservation: bool = False
    """strict-cpu-reservation: no container runs on the reserved CPUs."""
    by_cache: bool = False
    """prefer-align-cpus-by-uncorecache."""
    across_nodes: bool = False
    """distribute-cpus-across-numa: the same number from each of several nodes."""
    by_socket: bool = False
    """align-by-socket: a socket is the unit of alignment."""
    across_cores: bool = False
    """distribute-cpus-across-cores: single CPUs of many cores, in place of whole cores."""


def options_of(given: Mapping[str, str]) -> CpuOptions:
    """The options of the configuration, whose rules have checked names and values."""
    on = {name for name, value in given.items() if value in TRUE}
    return CpuOptions(
        full_cores="full-pcpus-only" in on,
        strict_reservation="strict-cpu-reservation" in on,
        by_cache="prefer-align-cpus-by-uncorecache" in on,
        across_nodes="distribute-cpus-across-numa" in on,
        by_socket="align-by-socket" in on,
        across_cores="distribute-cpus-across-cores" in on,
    )


def contradiction(given: Mapping[str, str], topology_policy: str, machine: MachineTopology) -> str:
    """Why these options cannot be used together, on this machine; '' if they can. The kubelet's texts."""
    on = {name for name, value in given.items() if value in TRUE}
    for one, other in _APART:
        if {one, other} <= on:
            return f"static policy options {one} and {other} can not be used at the same time"
    if "align-by-socket" not in on:
        return ""
    if topology_policy == "single-numa-node":
        return "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    if len(machine.sockets) > len(machine.cpu_nodes):
        return "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
    return ""
