"""The rules on the CPU policy that hold on every machine: its options, and its reservation. The texts are the
kubelet's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from actors.shared.config.fields.booleans import TRUE
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.resources import reserved_amount

from .rule_kinds import Finding, ValidationContext, refusal

NO_RESERVATION: Final = (
    "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
)
_EXCLUDE_EACH_OTHER: Final = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)
"""Pairs of options, in the order in which the kubelet names them."""


def option_conflict(options: Mapping[str, str], topology_policy: str) -> str:
    """Why these options of the static policy cannot be used together, or with this topologyManagerPolicy; '' if they
    can."""
    on = {name for name, value in options.items() if value in TRUE}
    for one, other in _EXCLUDE_EACH_OTHER:
        if {one, other} <= on:
            return f"static policy options {one} and {other} can not be used at the same time"
    if "align-by-socket" in on and topology_policy == "single-numa-node":
        return "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    return ""


def unsupported_options(options: Mapping[str, str]) -> str:
    """Why the policy none refuses these options; '' without any."""
    listed = " ".join(f"{name}:{options[name]}" for name in sorted(options))
    return f"None policy: received unsupported options=map[{listed}]" if options else ""


def cpu_policy(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    options, conflict = config.cpuManagerPolicyOptions, ""
    if config.cpuManagerPolicy == "none":
        conflict = unsupported_options(options)
    elif config.cpuManagerPolicy == "static":
        conflict = option_conflict(options, config.topologyManagerPolicy)
        if not config.reservedSystemCPUs and not _reserves_cpus(config):
            yield "cpuManagerPolicy", config.cpuManagerPolicy, NO_RESERVATION
    if conflict:
        yield "cpuManagerPolicyOptions", options, conflict


def _reserves_cpus(config: KubeletConfiguration) -> bool:
    """Whether a part of a CPU is reserved; also if the amount cannot be read, which another rule says."""
    given = [one["cpu"] for one in (config.kubeReserved, config.systemReserved) if "cpu" in one]
    return any(
        refusal(lambda value: reserved_amount("cpu", value), one) or reserved_amount("cpu", one) for one in given
    )
