"""The static policy: which CPUs a container gets. Pure: takes the state, a pod and a container, and returns the next
state."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.container_manager.topology.machine import Cpus, MachineTopology
from actors.container_manager.topology.provider import AllocationError
from actors.shared.config.validation.cpu_policy_checks import NO_RESERVATION
from actors.shared.hardware.hints import Hints, TopologyHint, masks_of, nodes_of
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_sidecar
from actors.shared.linux.cpu_list import format_cpu_list

from .distribution import distributed
from .options import CpuOptions
from .packing import packed, whole_cores
from .requests import exclusive_cpus, exclusive_cpus_of_pod
from .state import CpuState, StateError

STATIC: Final = "static"
CPU: Final = "cpu"


class StaticPolicy(msgspec.Struct, frozen=True):
    """The machine, and the CPUs reserved for the host."""

    machine: MachineTopology
    options: CpuOptions
    reserved: Cpus
    """CPUs that no container gets exclusively."""


def static_policy(machine: MachineTopology, options: CpuOptions, reserved_milli: int, reserved: Cpus) -> StaticPolicy:
    """`reserved`: reservedSystemCPUs; if empty, as many as `reserved_milli` needs, from the lowest cores. Raises
    StateError if nothing is reserved, or more than the machine has."""
    count = -(-reserved_milli // 1000)
    if not count:
        raise StateError(NO_RESERVATION)
    policy = StaticPolicy(machine, options, reserved)
    chosen = reserved or take(policy, machine.online, min(count, len(machine.online)))
    if len(chosen) != count:
        text = f"(size of {format_cpu_list(chosen)} did not equal {count})"
        raise StateError(f"[cpumanager] unable to reserve the required amount of CPUs {text}")
    return StaticPolicy(machine, options, chosen)


def take(policy: StaticPolicy, free: Cpus, count: int) -> Cpus:
    """`count` of the free CPUs, chosen by the options. Raises NotEnoughCpus."""
    machine, options = policy.machine, policy.options
    if options.across_nodes:
        group = machine.threads_per_core if options.full_cores else 1
        return distributed(machine, free, count, group, across_cores=options.across_cores)
    return packed(machine, free, count, by_cache=options.by_cache, across_cores=options.across_cores)


# -- start -----------------------------------------------------------------------------------------------------------
def starting_state(policy: StaticPolicy, state: CpuState) -> CpuState:
    """The initial state, from the recorded one; an empty one is a new machine. Raises StateError if it does not fit
    this machine."""
    online, reserved = policy.machine.online, policy.reserved
    strict = policy.options.strict_reservation
    usable = online - reserved if strict else online
    if not state.shared:
        if state.entries:
            raise StateError("default cpuset cannot be empty")
        return CpuState(STATIC, usable)
    shared = format_cpu_list(state.shared)
    if strict and reserved & state.shared:
        text = format_cpu_list(reserved & state.shared)
        raise StateError(f'some of strictly reserved cpus: "{text}" are present in defaultCpuSet: "{shared}"')
    if not strict and not reserved <= state.shared:
        text = format_cpu_list(reserved)
        raise StateError(f'not all reserved cpus: "{text}" are present in defaultCpuSet: "{shared}"')
    owners: dict[int, str] = {}
    for uid, containers in state.entries.items():
        for name, cpus in containers.items():
            text = f'pod: {uid}, container: {name} cpuset: "{format_cpu_list(cpus)}" overlaps with'
            if cpus & state.shared:
                raise StateError(f'{text} default cpuset "{shared}"')
            others = {owners.setdefault(cpu, uid) for cpu in cpus} - {uid}
            if others:
                raise StateError(f"{text} that of pod: {min(others)}")
    known = state.shared | state.exclusive()
    if known != usable:
        text = f'doesn\'t match with CPUs in state "{format_cpu_list(known)}"'
        raise StateError(f'current set of available CPUs "{format_cpu_list(usable)}" {text}')
    return state


# -- allocation ------------------------------------------------------------------------------------------------------
def available(policy: StaticPolicy, state: CpuState) -> Cpus:
    """CPUs that a container may get exclusively. With full-pcpus-only, CPUs that share a core with a reserved one are
    excluded. (The kubelet counts these, and then splits a core if they are the last ones of the NUMA node.)"""
    kept = policy.machine.whole_cores(policy.reserved) if policy.options.full_cores else policy.reserved
    return state.shared - kept


def allocate(
    policy: StaticPolicy, state: CpuState, pod: Pod, container: Container, affinity: TopologyHint | None = None
) -> CpuState:
    """The state with the container's CPUs; the same state if it has them already, or gets no exclusive CPUs.
    Raises AllocationError."""
    uid, count = pod.metadata.uid, exclusive_cpus(pod, container)
    if not count or container.name in state.of(uid):
        return state
    if policy.options.full_cores:
        _check_whole_cores(policy, state, count)
    free = available(policy, state) | reusable(state, pod)
    taken: Cpus = frozenset()
    if affinity is not None and affinity.mask is not None:
        aligned = free & _cpus_of_mask(policy, affinity.mask)
        taken = _take_exclusive(policy, aligned, min(count, len(aligned)))
    if len(taken) < count:
        taken |= _take_exclusive(policy, free - taken, count - len(taken))
    return state.with_container(uid, container.name, taken)


def _take_exclusive(policy: StaticPolicy, free: Cpus, count: int) -> Cpus:
    """As `take`. With full-pcpus-only it is whole cores, also on a machine whose cores differ (hybrid processors, or
    threads that are off), where the mean number of CPUs of a core says nothing. Raises AllocationError."""
    taken, machine = take(policy, free, count), policy.machine
    if not policy.options.full_cores or machine.whole_cores(taken) == taken:
        return taken
    taken = whole_cores(machine, free, count)
    if len(taken) < count:
        text = f"no free cores that have {count} CPUs together: they have {machine.core_sizes} CPUs"
        raise AllocationError(f"SMT Alignment Error: {text}", "SMTAlignmentError")
    return taken


def _check_whole_cores(policy: StaticPolicy, state: CpuState, count: int) -> None:
    """Raises AllocationError."""
    threads, prefix = policy.machine.threads_per_core, "SMT Alignment Error:"
    if count % threads:
        text = f"{prefix} requested {count} cpus not multiple cpus per core = {threads}"
        raise AllocationError(text, "SMTAlignmentError")
    physical = len(available(policy, state))
    if count > physical:
        text = f"not enough free physical CPUs: available physical CPUs = {physical}, requested CPUs = {count}"
        raise AllocationError(f"{prefix} {text}, CPUs per core = {threads}", "SMTAlignmentError")


def _cpus_of_mask(policy: StaticPolicy, mask: int) -> Cpus:
    """All CPUs of the mask's nodes; with align-by-socket, of the sockets that these are in."""
    machine, nodes = policy.machine, nodes_of(mask)
    return machine.of_sockets(machine.sockets_of(nodes)) if policy.options.by_socket else machine.of_nodes(nodes)


def reusable(state: CpuState, pod: Pod) -> Cpus:
    """CPUs that only ordinary init containers of the pod have. They are free for the container, because those end
    before it starts."""
    containers = state.of(pod.metadata.uid)
    found: Cpus = frozenset()
    for container in pod.spec.initContainers:
        if not is_sidecar(container):
            found |= containers.get(container.name, frozenset())
    restartable = [*filter(is_sidecar, pod.spec.initContainers), *pod.spec.containers]
    return found.difference(*(containers.get(container.name, frozenset()) for container in restartable))


# -- hints -----------------------------------------------------------------------------------------------------------
def hints(policy: StaticPolicy, state: CpuState, pod: Pod, container: Container) -> Hints:
    """The hints for the container's CPUs."""
    count = exclusive_cpus(pod, container)
    if not count:
        return {}
    given = state.of(pod.metadata.uid).get(container.name)
    if given is None:
        return {CPU: _hints(policy, available(policy, state), reusable(state, pod), count)}
    return {CPU: _hints(policy, given, frozenset(), count) if len(given) == count else ()}


def pod_hints(policy: StaticPolicy, state: CpuState, pod: Pod) -> Hints:
    """The hints for the CPUs of all containers of the pod together."""
    count = exclusive_cpus_of_pod(pod)
    if not count:
        return {}
    containers, assigned = state.of(pod.metadata.uid), frozenset[int]()
    for container in (*pod.spec.initContainers, *pod.spec.containers):
        given = containers.get(container.name)
        if given is not None:
            if len(given) != exclusive_cpus(pod, container):
                return {CPU: ()}
            assigned |= given
    if len(assigned) == count:
        return {CPU: _hints(policy, assigned, frozenset(), count)}
    return {CPU: _hints(policy, available(policy, state), reusable(state, pod) | assigned, count)}


def _hints(policy: StaticPolicy, free: Cpus, reused: Cpus, count: int) -> list[TopologyHint]:
    """Masks whose nodes have enough free CPUs and all reusable ones."""
    machine = policy.machine
    nodes = machine.cpu_nodes
    total = dict.fromkeys(nodes, 0)
    ready = dict.fromkeys(nodes, 0)
    for cpu in machine.cpus:
        total[cpu.node] += 1
        ready[cpu.node] += cpu.id in free or cpu.id in reused
    needed = {machine.by_id[cpu].node for cpu in reused}
    fewest, found = len(nodes), list[int]()
    for mask in masks_of(nodes):
        inside = nodes_of(mask)
        if sum(total[node] for node in inside) >= count:
            fewest = min(fewest, len(inside))
        if needed <= set(inside) and sum(ready[node] for node in inside) >= count:
            found.append(mask)
    return [TopologyHint(mask, preferred=_is_preferred(policy, mask, fewest)) for mask in found]


def _is_preferred(policy: StaticPolicy, mask: int, fewest: int) -> bool:
    machine = policy.machine
    if mask.bit_count() == fewest:
        return True
    per_socket = len(machine.cpu_nodes) // max(1, len(machine.sockets))
    if not policy.options.by_socket or not per_socket:
        return False
    return len(machine.sockets_of(nodes_of(mask))) == -(-fewest // per_socket)
