"""The rules on resources and eviction that take more than a line: reservations, thresholds, NUMA memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from actors.shared.config.fields.booleans import FALSE, TRUE
from actors.shared.config.fields.eviction import SIGNALS, parse_amount, parse_grace, parse_reclaim
from actors.shared.config.fields.groups import MemoryReservation
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.resources import parse_percent, reserved_amount
from actors.shared.kube import quantity
from actors.shared.linux.cpu_list import format_cpu_list, parse_cpu_list

from .rule_kinds import AMOUNT, Finding, ValidationContext, gate, refusal

CPU_OPTIONS: Final = {
    "full-pcpus-only": "",
    "strict-cpu-reservation": "",
    "prefer-align-cpus-by-uncorecache": "",
    "distribute-cpus-across-numa": "CPUManagerPolicyBetaOptions",
    "align-by-socket": "CPUManagerPolicyAlphaOptions",
    "distribute-cpus-across-cores": "CPUManagerPolicyAlphaOptions",
}
"""Options of the static CPU policy with the gate that each needs."""
LEAST_NUMA_NODES: Final = 8
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}\Z", re.ASCII)
TOPOLOGY_OPTIONS: Final = ("prefer-closest-numa-nodes", "max-allowable-numa-nodes")
ENFORCEABLE: Final = (
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
    "none",
)
_HUGEPAGES: Final = re.compile(r"hugepages-[0-9]+[KMGTPE]i?\Z", re.ASCII)


def wrong_reservation(config: KubeletConfiguration, name: str, amount: str | int) -> str:
    return refusal(lambda value: reserved_amount(name, value), amount)


def wrong_qos_reserved(config: KubeletConfiguration, name: str, share: str) -> str:
    percent = parse_percent(share)
    if name != "memory" or percent is None or percent > 100:
        return "must be memory with a percentage up to 100%"
    return ""


def wrong_threshold(config: KubeletConfiguration, signal: str, amount: str) -> str:
    return _unknown_signal(signal) or refusal(parse_amount, amount, AMOUNT)


def wrong_soft_threshold(config: KubeletConfiguration, signal: str, amount: str) -> str:
    problem = wrong_threshold(config, signal, amount)
    if not problem and parse_amount(amount) is not None and signal not in config.evictionSoftGracePeriod:
        return f"needs a grace period: evictionSoftGracePeriod[{signal}]"
    return problem


def wrong_grace(config: KubeletConfiguration, signal: str, text: str) -> str:
    return _unknown_signal(signal) or refusal(parse_grace, text)


def wrong_reclaim(config: KubeletConfiguration, signal: str, amount: str) -> str:
    return _unknown_signal(signal) or refusal(parse_reclaim, amount, AMOUNT)


def _unknown_signal(signal: str) -> str:
    return "" if signal in SIGNALS else f"must be one of the signals {', '.join(SIGNALS)}"


def wrong_cpu_option(config: KubeletConfiguration, name: str, value: str) -> str:
    """The error of the option, with the kubelet's text."""
    needed = CPU_OPTIONS.get(name)
    if needed is None:
        return f'unknown CPU Manager Policy option: "{name}": must be one of {", ".join(CPU_OPTIONS)}'
    if needed and not gate(config, needed):
        level = "Alpha" if "Alpha" in needed else "Beta"
        text = f'CPU Manager Policy {level}-level Options not enabled, but option "{name}" provided'
        return f"{text}: needs the feature gate {needed}"
    return _wrong_switch(name, value)


def wrong_topology_option(config: KubeletConfiguration, name: str, value: str) -> str:
    if name not in TOPOLOGY_OPTIONS:
        return f'unknown Topology Manager Policy option: "{name}": must be one of {", ".join(TOPOLOGY_OPTIONS)}'
    if name != "max-allowable-numa-nodes":
        return _wrong_switch(name, value)
    if not _WHOLE.match(value):
        return f'unable to convert policy option to integer "{name}": strconv.Atoi: parsing "{value}": invalid syntax'
    if int(value) < LEAST_NUMA_NODES:
        return f'the minimum value of "{name}" should not be less than {LEAST_NUMA_NODES}'
    return ""


def _wrong_switch(name: str, value: str) -> str:
    if value in TRUE or value in FALSE:
        return ""
    return f'bad value for option "{name}": strconv.ParseBool: parsing "{value}": invalid syntax'


def wrong_enforcement(config: KubeletConfiguration, index: str, name: str) -> str:
    """Check an entry of enforceNodeAllocatable."""
    others = [other for place, other in enumerate(config.enforceNodeAllocatable) if str(place) != index]
    plain = name.removesuffix("-compressible")
    if name not in ENFORCEABLE:
        return f"must be one of {', '.join(ENFORCEABLE)}"
    if name in others:
        return "must be given once"
    if name == "none" and others:
        return "none must stand alone"
    if name != plain and plain in others:
        return f"excludes {plain}"
    if name != "none" and not config.cgroupsPerQOS:
        return "needs cgroupsPerQOS"
    if plain == "system-reserved" and not config.systemReservedCgroup:
        return "needs systemReservedCgroup"
    if plain == "kube-reserved" and not config.kubeReservedCgroup:
        return "needs kubeReservedCgroup"
    if plain != "pods" and name != "none" and config.reservedSystemCPUs:
        return "cannot be combined with reservedSystemCPUs"
    return ""


def wrong_memory_reservation(config: KubeletConfiguration, index: str, item: MemoryReservation) -> str:
    if item.numaNode < 0:
        return "numaNode must be 0 or more"
    for kind, amount in item.limits.items():
        problem = refusal(quantity.parse, amount)
        if kind != "memory" and not _HUGEPAGES.match(kind):
            return f"limits may be memory and hugepages-<size>, not {kind[:40]}"
        if problem or quantity.parse(amount) <= 0:
            return f"limits[{kind}] must be a quantity above 0"
    before = config.reservedMemory[: int(index)]
    if any(other.numaNode == item.numaNode and set(other.limits) & set(item.limits) for other in before):
        return "must name each kind of memory of a NUMA node once"
    return ""


def reserved_cpus(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    """reservedSystemCPUs: a CPU list, all of it online, without cgroups for the reservations."""
    text = config.reservedSystemCPUs
    if not text:
        return
    try:
        cpus = parse_cpu_list(text)
    except ValueError as error:
        yield "reservedSystemCPUs", text, str(error)
        return
    if context.online_cpus is not None and not cpus <= context.online_cpus:
        online = format_cpu_list(context.online_cpus)
        yield "reservedSystemCPUs", text, f"reserved CPUs: {text} is not a subset of online-CPUs: {online}"
    if config.systemReservedCgroup or config.kubeReservedCgroup:
        yield "reservedSystemCPUs", text, "cannot be combined with systemReservedCgroup or kubeReservedCgroup"


def is_quantity(value: Any) -> bool:
    return not refusal(quantity.parse, value)
