"""The NAT rules that the CNI plug-ins made for one network, and the input that removes them. Pure.

The plug-ins mark the rule that jumps to a pod's chain with a comment, `name: "<network>" id: "<container>"`.
"""

from __future__ import annotations

import shlex
from typing import Final

_SHARED: Final = frozenset(
    {"CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK", "CNI-ADMIN", "CNI-FORWARD"}
)
"""Chains that all networks of a host have in common: they stay."""


def removal(saved: str, network: str) -> str:
    """Input for `iptables-restore --noflush` that removes this network's rules from what `iptables-save -t nat` wrote.

    Empty when there is nothing to remove.
    """
    mark = f'name: "{network}" id: '
    rules = [line for line in saved.splitlines() if line.startswith("-A ") and mark in _comment(line)]
    chains = sorted({target for line in rules if (target := _option_value(line, "-j")).startswith("CNI-")} - _SHARED)
    deletions = [f"-D{line.removeprefix('-A')}" for line in rules if _option_value(line, "-A") not in chains]
    if not deletions:
        return ""
    flushes = [f"-F {chain}" for chain in chains]
    ends = [f"-X {chain}" for chain in chains]
    return "\n".join(["*nat", *deletions, *flushes, *ends, "COMMIT", ""])


def _comment(rule: str) -> str:
    return _option_value(rule, "--comment")


def _option_value(rule: str, option: str) -> str:
    try:
        words = shlex.split(rule)
        return words[words.index(option) + 1]
    except (ValueError, IndexError):
        return ""
