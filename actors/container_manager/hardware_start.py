"""The initial state of the managers of CPUs and memory, from the machine, the configuration and the state files. The
records of pods' resources are checked too.

The agent checks this before it starts anything (`problems`), with the kubelet's texts, and the container manager when
it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigProblem
from actors.shared.config.fields.booleans import TRUE
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.validation.cpu_policy_checks import unsupported_options
from actors.shared.config.validation.memory_policy_checks import reserved_memory_conflict
from actors.shared.kube import quantity
from actors.shared.kube.quantity import ceil
from actors.shared.linux.cpu_list import parse_cpu_list
from actors.shared.pod_records import ACTUATED, ALLOCATED, RecordError, read
from actors.shared.restore_error import restore_error
from supervision.errors import error_text
from supervision.state_file import read_private

from .cpu.earlier_state import read_earlier, untranslated
from .cpu.options import contradiction, options_of
from .cpu.state import CPU_STATE, CpuState, StateError
from .cpu.state import decode as decode_cpus
from .cpu.static_policy import STATIC, StaticPolicy, starting_state, static_policy
from .memory.initial_state import NONE as MEMORY_NONE
from .memory.initial_state import STATIC as MEMORY_STATIC
from .memory.initial_state import fresh
from .memory.initial_state import starting_state as starting_memory
from .memory.state import MEMORY_STATE, MemoryState
from .memory.state import decode as decode_memory
from .node_resources import reserved, unallocatable_memory
from .topology.hint_merger import NONE, Numa
from .topology.machine import MEMORY, MachineTopology, read_machine
from .topology.pod_hardware import TopologySettings

DRAIN: Final = "please drain node and remove policy state file"
MOST_NODES: Final = 8
T = TypeVar("T")


class CpuStart(msgspec.Struct, frozen=True):
    """None: every container runs on all CPUs."""

    policy: StaticPolicy | None
    state: CpuState


def problems(agent: Agent, host: str = "") -> Iterator[ConfigProblem]:
    """Why the agent cannot start. `host`: the root directory of a fake host."""
    config = agent.config
    for name in (ALLOCATED, ACTUATED):
        try:
            read(Path(agent.root_dir, name))
        except RecordError as error:
            yield ConfigProblem("", "", str(error), damaged=error.damaged)
    try:
        machine = machine_of(agent, host)
    except (OSError, ValueError) as error:
        yield ConfigProblem(
            "cpuManagerPolicy", config.cpuManagerPolicy, f"the CPUs of this machine cannot be read: {error_text(error)}"
        )
        return
    starts: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ("topologyManagerPolicy", config.topologyManagerPolicy, lambda: topology_settings(agent, machine)),
        ("cpuManagerPolicy", config.cpuManagerPolicy, lambda: cpu_start(agent, machine)),
        ("memoryManagerPolicy", config.memoryManagerPolicy, lambda: memory_start(agent, machine)),
    )
    for field, value, start in starts:
        try:
            start()
        except StateError as error:
            yield ConfigProblem(field, value, str(error), damaged=error.damaged)


def machine_of(
    agent: Agent, host: str = "", by: Callable[[Callable[[], MachineTopology]], MachineTopology] = lambda read: read()
) -> MachineTopology:
    """An empty one if no policy needs it. `by` may have an earlier reading. Raises OSError, ValueError."""
    config = agent.config
    static = config.cpuManagerPolicy == STATIC or config.memoryManagerPolicy == MEMORY_STATIC
    needed = static or config.topologyManagerPolicy != NONE
    return by(lambda: read_machine(host)) if needed else MachineTopology((), ())


def topology_settings(agent: Agent, machine: MachineTopology) -> TopologySettings:
    """Raises StateError on a machine with too many NUMA nodes."""
    config, options = agent.config, agent.config.topologyManagerPolicyOptions
    most = int(options.get("max-allowable-numa-nodes", MOST_NODES))
    if config.topologyManagerPolicy != NONE and len(machine.nodes) > most:
        raise StateError(f"unsupported on machines with more than {most} NUMA Nodes")
    closest = options.get("prefer-closest-numa-nodes") in TRUE
    distances = {node.id: node.distances for node in machine.nodes} if closest else {}
    return TopologySettings(
        config.topologyManagerPolicy, config.topologyManagerScope, Numa(machine.node_ids, distances)
    )


def _decode_cpus(raw: bytes) -> CpuState:
    """The state in the file, also in one of an earlier form. Raises StateError."""
    earlier = read_earlier(raw)
    return decode_cpus(raw) if earlier is None else untranslated(earlier)


def cpu_start(agent: Agent, machine: MachineTopology, source: Path | None = None) -> CpuStart:
    """`source`: read in place of the state file. Raises StateError."""
    config, path = agent.config, Path(agent.root_dir, CPU_STATE)
    restored = _read_state(source or path, _decode_cpus, "CPU", lambda state: state.policy, config.cpuManagerPolicy)
    given = config.cpuManagerPolicyOptions
    if config.cpuManagerPolicy != STATIC:
        if given:
            raise StateError(unsupported_options(given))
        return CpuStart(None, CpuState(NONE))
    if refused := contradiction(given, config.topologyManagerPolicy, machine):
        raise StateError(refused)
    whole = parse_cpu_list(config.reservedSystemCPUs)
    policy = static_policy(machine, options_of(given), reserved(config).get("cpu", 0), whole)
    try:
        return CpuStart(policy, starting_state(policy, restored or CpuState(STATIC)))
    except StateError as error:
        raise StateError(f'{error}: {DRAIN} "{path}"', str(path)) from None


def memory_start(agent: Agent, machine: MachineTopology, source: Path | None = None) -> MemoryState:
    """`source`: read in place of the state file. Raises StateError."""
    config, path = agent.config, Path(agent.root_dir, MEMORY_STATE)
    restored = _read_state(
        source or path, decode_memory, "memory", lambda state: state.policy, config.memoryManagerPolicy
    )
    if config.memoryManagerPolicy != MEMORY_STATIC:
        return MemoryState(MEMORY_NONE)
    by_node = reserved_memory(config, machine)
    try:
        return starting_memory(fresh(machine.nodes, by_node), restored)
    except StateError as error:
        raise StateError(f'{error}: {DRAIN} "{path}"', str(path)) from None


def reserved_memory(config: KubeletConfiguration, machine: MachineTopology) -> dict[int, dict[str, int]]:
    """reservedMemory by node, in bytes. Raises StateError if its sum is not what node allocatable excludes."""
    by_node: dict[int, dict[str, int]] = {}
    for one in config.reservedMemory:
        if one.numaNode not in machine.node_ids:
            text = f"the reserved memory configuration references a NUMA node {one.numaNode}"
            raise StateError(f"{text} that does not exist on this machine")
        of_node = by_node.setdefault(one.numaNode, {})
        of_node |= {kind: ceil(quantity.parse(amount)) for kind, amount in one.limits.items()}
    total = sum(node.memory[MEMORY] for node in machine.nodes)
    if conflict := reserved_memory_conflict(config, unallocatable_memory(config, total)):
        raise StateError(conflict)
    return by_node


def _read_state(
    path: Path, decode: Callable[[bytes], T], kind: str, policy_of: Callable[[T], str], policy: str
) -> T | None:
    """The recorded state; None if there is no file. Raises StateError."""
    try:
        found = decode(read_private(path))
        if policy_of(found) != policy:
            prefix = "[memorymanager] " if kind == "memory" else ""
            text = f'configured policy "{policy}" differs from state checkpoint policy "{policy_of(found)}"'
            raise StateError(prefix + text)
    except FileNotFoundError:
        return None
    except (StateError, OSError) as error:
        raise StateError(*restore_error(path, error, f"the {kind} manager checkpoint file")) from None
    return found
