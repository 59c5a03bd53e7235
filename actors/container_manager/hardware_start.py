"""What the CPU manager goes on from: the machine, the configuration, and the state file of the last time.

The agent checks this before it starts anything (`problems`), with the kubelet's texts, and the container manager when
it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.errors import Problem
from actors.shared.config.fields.resources import parse_cpu_list

from .cpu.options import contradiction, options_of
from .cpu.state import CPU_STATE, CpuState, StateError
from .cpu.state import decode as decode_cpus
from .cpu.static_policy import STATIC, StaticPolicy, begin, static_policy
from .node_resources import reserved
from .topology.machine import Machine, read_machine
from .topology.merging import NONE, Numa
from .topology.pod_hardware import TopologySettings

DRAIN: Final = "please drain node and remove policy state file"
MOST_NODES: Final = 8
T = TypeVar("T")


class CpuStart(msgspec.Struct, frozen=True):
    """None: every container runs on all CPUs."""

    policy: StaticPolicy | None
    state: CpuState


def problems(agent: Agent, host: str = "") -> Iterator[Problem]:
    """Why the agent cannot start. `host`: the root directory of a fake host."""
    config = agent.config
    try:
        machine = machine_of(agent, host)
    except (OSError, ValueError) as error:
        yield Problem("cpuManagerPolicy", config.cpuManagerPolicy, f"the CPUs of this machine cannot be read: {error}")
        return
    starts: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ("topologyManagerPolicy", config.topologyManagerPolicy, lambda: topology_settings(agent, machine)),
        ("cpuManagerPolicy", config.cpuManagerPolicy, lambda: cpu_start(agent, machine)),
    )
    for field, value, start in starts:
        try:
            start()
        except StateError as error:
            yield Problem(field, value, str(error))


def machine_of(agent: Agent, host: str = "") -> Machine:
    """An empty one if no policy needs it. Raises OSError, ValueError."""
    config = agent.config
    needed = config.cpuManagerPolicy == STATIC or config.topologyManagerPolicy != NONE
    return read_machine(host) if needed else Machine((), ())


def topology_settings(agent: Agent, machine: Machine) -> TopologySettings:
    """Raises StateError on a machine with too many NUMA nodes."""
    config, options = agent.config, agent.config.topologyManagerPolicyOptions
    most = int(options.get("max-allowable-numa-nodes", MOST_NODES))
    if config.topologyManagerPolicy != NONE and len(machine.nodes) > most:
        raise StateError(f"unsupported on machines with more than {most} NUMA Nodes")
    closest = options.get("prefer-closest-numa-nodes") == "true"
    distances = {node.id: node.distances for node in machine.nodes} if closest else {}
    return TopologySettings(
        config.topologyManagerPolicy, config.topologyManagerScope, Numa(machine.node_ids, distances)
    )


def cpu_start(agent: Agent, machine: Machine) -> CpuStart:
    """Raises StateError."""
    config, path = agent.config, Path(agent.root_dir, CPU_STATE)
    kept = _kept(path, decode_cpus, "CPU", lambda state: state.policy, config.cpuManagerPolicy)
    given = config.cpuManagerPolicyOptions
    if config.cpuManagerPolicy != STATIC:
        if given:
            listed = " ".join(f"{name}:{given[name]}" for name in sorted(given))
            raise StateError(f"None policy: received unsupported options=map[{listed}]")
        return CpuStart(None, CpuState(NONE))
    if refused := contradiction(given, config.topologyManagerPolicy, machine):
        raise StateError(refused)
    whole = parse_cpu_list(config.reservedSystemCPUs)
    policy = static_policy(machine, options_of(given), reserved(config).get("cpu", 0), whole)
    try:
        return CpuStart(policy, begin(policy, kept or CpuState(STATIC)))
    except StateError as error:
        raise StateError(f'{error}: {DRAIN} "{path}"') from None


def _kept(path: Path, decode: Callable[[bytes], T], kind: str, policy_of: Callable[[T], str], policy: str) -> T | None:
    """The state of the last time; None if there is no file. Raises StateError."""
    try:
        found = decode(path.read_bytes())
        if policy_of(found) != policy:
            raise StateError(f'configured policy "{policy}" differs from state checkpoint policy "{policy_of(found)}"')
    except FileNotFoundError:
        return None
    except (StateError, OSError) as error:
        advice = (
            f'please drain this node and delete the {kind} manager checkpoint file "{path}" before restarting Kubelet'
        )
        raise StateError(f"could not restore state from checkpoint: {error}, {advice}") from None
    return found
