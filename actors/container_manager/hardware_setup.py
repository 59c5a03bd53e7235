"""Makes the managers of devices, CPUs and memory of the container manager, and the topology manager above them."""

from __future__ import annotations

from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.state_files import StateFiles
from supervision.actor import Actor
from supervision.repeated_warnings import RepeatedWarnings

from .admission.ledger import Ledger
from .cpu.earlier_state import translate
from .cpu.hint_provider import ExclusiveCpus
from .cpu.reconciliation import CpuReconciliation, CpusOf
from .cpu.state import CPU_STATE, encode
from .hardware_start import cpu_start, machine_of, memory_start, topology_settings
from .memory.hint_provider import PinnedMemory
from .memory.initial_state import STATIC as MEMORY_STATIC
from .memory.state import MEMORY_STATE
from .memory.state import encode as encode_memory
from .state_store import StateStore
from .topology.devices import DeviceHintProvider
from .topology.kept_machine import machine_of_this_life
from .topology.pod_hardware import PodHardware
from .topology.provider import HintProvider


def pod_hardware(
    actor: Actor, agent: Agent, ledger: Ledger, warnings: RepeatedWarnings, host: str, runtime: CriClient | None
) -> PodHardware:
    """Writes the state files, as the kubelet does under every policy. `host`: the root directory of a fake host;
    `runtime`: replaces the agent's. Raises StateError, OSError, ValueError."""
    files = StateFiles.of(actor, agent)
    machine = machine_of(agent, host, lambda read: machine_of_this_life(files.copies, read, actor.log, files.again))
    cpus = cpu_start(agent, machine, files.file(CPU_STATE).newest())
    providers: list[HintProvider] = [DeviceHintProvider(actor, machine.node_ids)]
    store = StateStore(files.file(CPU_STATE), cpus.state, encode)
    exclusive = None
    if cpus.policy is not None:
        unthrottled = agent.gate("DisableCPUQuotaWithExclusiveCPUs")
        exclusive = ExclusiveCpus(cpus.policy, store, actor.metrics, unthrottled=unthrottled)
        providers.append(exclusive)
        client, cpus_of = runtime or _runtime(actor, agent), _cpus_of(exclusive, ledger)
        reconciliation = CpuReconciliation(actor, client, warnings, cpus_of, exclusive.is_created_with)
        reconciliation.start(float(agent.config.cpuManagerReconcilePeriod))
    file = files.file(MEMORY_STATE)
    memory = StateStore(file, memory_start(agent, machine, file.newest()), encode_memory)
    if agent.config.memoryManagerPolicy == MEMORY_STATIC:
        providers.append(PinnedMemory(memory, actor.metrics))
    return PodHardware(
        actor.metrics,
        providers,
        topology_settings(agent, machine),
        unthrottled=exclusive.unthrottled if exclusive is not None else None,
    )


async def prepare_state(actor: Actor, agent: Agent, runtime: CriClient | None) -> None:
    """Read the state files, and convert earlier forms. Call it before `pod_hardware`. Raises StateError, OSError."""
    files = StateFiles.of(actor, agent)
    for name in (CPU_STATE, MEMORY_STATE):
        files.file(name).prepare()
    await translate(files.file(CPU_STATE), lambda: runtime or _runtime(actor, agent))


def _runtime(actor: Actor, agent: Agent) -> CriClient:
    seconds = float(agent.config.runtimeRequestTimeout)
    return CriClient(agent.runtime_endpoint, request_seconds=seconds, metrics=actor.metrics)


def _cpus_of(exclusive: ExclusiveCpus, ledger: Ledger) -> CpusOf:
    """The CPUs of the container if its pod is counted; None for others, which are not the agent's, or are ending."""
    return lambda uid, container: exclusive.cpus_of(uid, container) if uid in ledger else None
