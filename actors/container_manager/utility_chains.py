"""The chains of iptables that a node has for others' sake: a hint, and the guard of what listens on localhost only.

KUBE-IPTABLES-HINT says to programs in containers which of its two back ends the host's iptables writes to (KEP-3178).
KUBE-FIREWALL drops what comes to 127.0.0.0/8 from elsewhere: a node that forwards ports may have route_localnet set,
and its neighbours could then reach services of localhost (CVE-2020-8558). KUBE-KUBELET-CANARY holds nothing: when it is
gone, something flushed the tables, and all is made again. None is ever taken away, as with the kubelet.
"""

from __future__ import annotations

import os
import shutil
from typing import Final, NamedTuple

from actors.shared.linux.command import Runner, run

CANARY: Final = "KUBE-KUBELET-CANARY"
FIREWALL: Final = "KUBE-FIREWALL"
HINT: Final = "KUBE-IPTABLES-HINT"
_LOCK_SECONDS: Final = "4"
"""Another program may hold the lock of the tables for a while; less than what a command is given."""
_GUARD: Final = (
    '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" '
    "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP"
)
_JUMPS: Final = ("INPUT", "OUTPUT")


class Family(NamedTuple):
    """IPv4 or IPv6 of this host: where its programs are."""

    tool: str
    restore: str
    has_guard: bool
    """Nothing but IPv4 routes its loopback addresses."""


def families(host: str = "") -> list[Family]:
    """Those that the host has programs for, IPv4 first. `host`: the root directory of a made-up host."""
    found = []
    for name, guarded in (("iptables", True), ("ip6tables", False)):
        tool, restore = shutil.which(name), shutil.which(f"{name}-restore")
        if tool and restore and (guarded or os.path.exists(f"{host}/proc/net/if_inet6")):
            found.append(Family(tool, restore, guarded))
    return found


class UtilityChains:
    """Looks whether they are there, and makes them where they are not."""

    def __init__(self, families: list[Family], runner: Runner = run) -> None:
        self._families, self._run = families, runner

    async def keep(self) -> list[str]:
        """What could not be done, a text for each family."""
        problems = []
        for family in self._families:
            canary = await self._has(family, "mangle", "-S", CANARY, "1")
            missing = [chain for chain in _JUMPS if family.has_guard and not await self._jumps(family, chain)]
            if canary and not missing:
                continue
            argv = [family.restore, "-w", _LOCK_SECONDS, "--noflush"]
            error = await self._run(argv, wanted(missing, guarded=family.has_guard).encode())
            if error:
                problems.append(f"{os.path.basename(family.restore)}: {error}")
        return problems

    async def _jumps(self, family: Family, chain: str) -> bool:
        return await self._has(family, "filter", "-C", chain, "-j", FIREWALL)

    async def _has(self, family: Family, table: str, *words: str) -> bool:
        return not await self._run([family.tool, "-w", _LOCK_SECONDS, "-t", table, *words])


def wanted(without_jump: list[str], *, guarded: bool) -> str:
    """Input for `iptables-restore --noflush`: each chain that it names is emptied and filled in one step.

    `without_jump`: the chains of the system that do not lead to the guard yet; naming one that does would lead there
    twice.
    """
    guard = [f":{FIREWALL} - [0:0]", *(f"-I {chain} -j {FIREWALL}" for chain in without_jump), _GUARD]
    tables = {"mangle": [f":{HINT} - [0:0]"], "filter": guard if guarded else [], "nat": []}
    lines = []
    for table, rules in tables.items():
        lines += [f"*{table}", f":{CANARY} - [0:0]", *rules, "COMMIT"]
    return "\n".join([*lines, ""])
