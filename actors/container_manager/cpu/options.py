"""The options of the static policy, and which exclude each other. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.container_manager.topology.machine import MachineTopology
from actors.shared.config.fields.booleans import TRUE
from actors.shared.config.validation.cpu_policy_checks import option_conflict


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
    if conflict := option_conflict(given, topology_policy):
        return conflict
    if options_of(given).by_socket and len(machine.sockets) > len(machine.cpu_nodes):
        return "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
    return ""
