"""Tasks on the host that are repeated each minute: systemCgroups and the utility chains. No pod waits for them."""

from __future__ import annotations

from typing import Final

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux.cgroup_names import plain_path
from actors.shared.linux.command import CommandRunner
from supervision.actor import Actor, DisposableError
from supervision.repeated_warnings import RepeatedWarnings

from .utility_chains import UtilityChains, families

SECONDS: Final = 60.0
FIRST_CHAINS_SECONDS: Final = 1.0
"""Seconds from the start to the first check of the chains. It need not be earlier: after a restart of this actor the
chains already exist."""
_GATHER: Final = "actors.container_manager.cgroups.system_cgroups:gather_host"


class PeriodicTasks:
    """`host`: the root directory of a fake host; `runner` runs iptables."""

    def __init__(
        self, actor: Actor, config: KubeletConfiguration, warnings: RepeatedWarnings, host: str, runner: CommandRunner
    ) -> None:
        self._actor, self._config, self._warnings, self._host = actor, config, warnings, host
        self._chains = UtilityChains(families(host) if config.makeIPTablesUtilChains else [], runner)

    def start(self) -> None:
        if self._config.systemCgroups:
            self._actor.every(SECONDS, self._gather, jitter=0.1, immediately=True)
        if self._config.makeIPTablesUtilChains:
            self._actor.after(FIRST_CHAINS_SECONDS, self._keep_chains)
            self._actor.every(SECONDS, self._keep_chains, jitter=0.1)

    async def _gather(self) -> None:
        """Move the host's processes in the root cgroup into systemCgroups."""
        cgroup = plain_path(self._config.systemCgroups)
        try:
            left = await self._actor.disposable(_GATHER, {"cgroup": cgroup, "host": self._host}, deadline=SECONDS / 2)
        except DisposableError as error:
            left = [str(error)]
        self._report("gather", f"systemCgroups: not all are in {cgroup} (tried each minute): ", left[:5])

    async def _keep_chains(self) -> None:
        """Maintain the iptables chains that other programs and services of localhost rely on."""
        self._report("chains", "chains of iptables (tried each minute): ", await self._chains.keep())

    def _report(self, key: str, what: str, problems: list[str]) -> None:
        if problems:
            self._warnings.warn(key, what + "; ".join(problems))
        else:
            self._warnings.resolved(key)
