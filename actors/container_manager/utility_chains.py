"""The iptables chains that other programs rely on: a hint, and the guard of services that listen on localhost only.

KUBE-IPTABLES-HINT shows programs in containers which of the two back ends the host's iptables uses (KEP-3178).
KUBE-FIREWALL drops packets to 127.0.0.0/8 that come from elsewhere: on a node with route_localnet its neighbours could
reach services of localhost (CVE-2020-8558). KUBE-KUBELET-CANARY is empty: when it is gone, something has flushed the
tables, and all chains are made again. As in the kubelet, no chain is ever removed.
"""

from __future__ import annotations

import os
import shutil
from typing import Final, NamedTuple

from actors.shared.linux.command import CommandRunner, run

CANARY: Final = "KUBE-KUBELET-CANARY"
FIREWALL: Final = "KUBE-FIREWALL"
HINT: Final = "KUBE-IPTABLES-HINT"
_LOCK_SECONDS: Final = "4"
"""Seconds that a command waits for the lock of the tables; less than its deadline."""
_GUARD: Final = (
    '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" '
    "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP"
)
_JUMPS: Final = ("INPUT", "OUTPUT")


class IpFamily(NamedTuple):
    """IPv4 or IPv6 on this host: the paths of its programs."""

    tool: str
    restore: str
    has_guard: bool
    """Only IPv4 can route its loopback addresses."""


def families(host: str = "") -> list[IpFamily]:
    """The IP families that the host has programs for, IPv4 first. `host`: the root directory of a fake host."""
    found = []
    for name, guarded in (("iptables", True), ("ip6tables", False)):
        tool, restore = shutil.which(name), shutil.which(f"{name}-restore")
        if tool and restore and (guarded or os.path.exists(f"{host}/proc/net/if_inet6")):
            found.append(IpFamily(tool, restore, guarded))
    return found


class UtilityChains:
    """Checks the chains and creates missing ones."""

    def __init__(self, families: list[IpFamily], runner: CommandRunner = run) -> None:
        self._families, self._run = families, runner

    async def keep(self) -> list[str]:
        """Check the chains of each family and create missing ones. Returns one text per family that failed."""
        problems = []
        for family in self._families:
            canary = await self._has(family, "mangle", "-S", CANARY, "1")
            missing = [chain for chain in _JUMPS if family.has_guard and not await self._jumps(family, chain)]
            if canary and not missing:
                continue
            argv = [family.restore, "-w", _LOCK_SECONDS, "--noflush"]
            error = await self._run(argv, restore_input(missing, guarded=family.has_guard).encode())
            if error:
                problems.append(f"{os.path.basename(family.restore)}: {error}")
        return problems

    async def _jumps(self, family: IpFamily, chain: str) -> bool:
        return await self._has(family, "filter", "-C", chain, "-j", FIREWALL)

    async def _has(self, family: IpFamily, table: str, *words: str) -> bool:
        return not await self._run([family.tool, "-w", _LOCK_SECONDS, "-t", table, *words])


def restore_input(without_jump: list[str], *, guarded: bool) -> str:
    """Input for `iptables-restore --noflush`: each chain that it names is emptied and filled in one step.

    `without_jump`: the chains of the system that do not lead to the guard yet; with another one in the list there would
    be a second jump.
    """
    guard = [f":{FIREWALL} - [0:0]", *(f"-I {chain} -j {FIREWALL}" for chain in without_jump), _GUARD]
    tables = {"mangle": [f":{HINT} - [0:0]"], "filter": guard if guarded else [], "nat": []}
    lines = []
    for table, rules in tables.items():
        lines += [f"*{table}", f":{CANARY} - [0:0]", *rules, "COMMIT"]
    return "\n".join([*lines, ""])
