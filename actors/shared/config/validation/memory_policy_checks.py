"""The rule on the memory policy: reservedMemory is what node allocatable leaves out. The texts are the kubelet's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.shared.config.fields.eviction import hard_thresholds
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.resources import reserved_amount
from actors.shared.kube import quantity

from .rule_kinds import Finding, ValidationContext

MEMORY: Final = "memory"
FIELDS: Final = "reservedMemory; kubeReserved, systemReserved and the memory.available of evictionHard together"
"""Whose amounts differ: the kubelet does not say it."""
NO_RESERVATION: Final = "[memorymanager] you should specify the system reserved memory"


def reserved_memory_conflict(config: KubeletConfiguration, withheld: int) -> str:
    """Why the static policy cannot begin with this reservedMemory; '' if it can. `withheld`: bytes of memory that pods
    may not request, by the reservations and the hard eviction threshold."""
    sums: dict[str, int] = {MEMORY: 0}
    for one in config.reservedMemory:
        for kind, amount in one.limits.items():
            sums[kind] = sums.get(kind, 0) + quantity.ceil(quantity.parse(amount))
    for kind, size in sums.items():
        expected = withheld if kind == MEMORY else 0
        if size != expected:
            text = f'the total amount "{_quantity_text(size)}" of type "{kind}" is not equal to the value'
            return f'{text} "{_quantity_text(expected)}" determined by Node Allocatable feature ({FIELDS})'
    return "" if sums[MEMORY] else NO_RESERVATION


def _quantity_text(size: int) -> str:
    """The bytes as the API writes a quantity."""
    units = ((60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki"))
    return next((f"{size >> bits}{suffix}" for bits, suffix in units if size and size % (1 << bits) == 0), str(size))


def memory_policy(config: KubeletConfiguration, context: ValidationContext) -> Iterator[Finding]:
    if config.memoryManagerPolicy != "Static":
        return
    try:
        withheld = _withheld(config, context.memory)
        conflict = reserved_memory_conflict(config, withheld) if withheld is not None else ""
    except ValueError:
        return  # another rule says which amount cannot be read
    if conflict:
        yield "memoryManagerPolicy", config.memoryManagerPolicy, conflict


def _withheld(config: KubeletConfiguration, memory: int | None) -> int | None:
    """None if a threshold is a share of the machine's `memory`, and that is not known. Raises ValueError."""
    amounts = [one.amount for one in hard_thresholds(config) if one.signal == "memory.available"]
    given = [one[MEMORY] for one in (config.kubeReserved, config.systemReserved) if MEMORY in one]
    if memory is None and any(one.absolute is None for one in amounts):
        return None
    return sum(one.of(memory or 0) for one in amounts) + sum(
        quantity.ceil(reserved_amount(MEMORY, one)) for one in given
    )
