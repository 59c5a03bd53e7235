"""The configuration that the agent runs with: puts a new one in force, and has its consumers restarted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.log_settings import set_logging
from actors.shared.repeated_save import RepeatedSave
from supervision.actor import Actor, AskError
from supervision.protocol import FORK_SERVER, RollingRestart
from supervision.spec import SetPolicies

from . import session
from .consumers import Consumers, unread
from .in_force import InForce
from .sources import ValidConfiguration

RETRY_SECONDS: Final = 1.0
"""The pause before a rolling restart is ordered again."""


class RunningConfiguration:
    """Keeps the session file, which the next incarnation continues from and actors that start read."""

    def __init__(self, actor: Actor, agent: Agent, consumers: Consumers) -> None:
        """Continues the session of the last incarnation in this run of the agent, if there is one."""
        self._actor, self._consumers, self._shards = actor, consumers, agent.workers
        self._session_file = Path(agent.config_checkpoint_dir) / session.SESSION_FILE
        previous = session.load(self._session_file)
        self.is_continued = previous is not None
        running = agent.config if previous is None else previous.configuration()
        to_restart = () if previous is None else previous.to_restart
        self._in_force = InForce(running=running, desired=running, policy=agent.policy, to_restart=to_restart)
        self._session = RepeatedSave(actor, self._write_session, "the session's configuration", self.start_restart)
        self._is_saved = True
        """The session has what is in force."""

    @property
    def running(self) -> KubeletConfiguration:
        return self._in_force.running

    @property
    def waiting(self) -> tuple[str, ...]:
        """The top-level fields that wait for a restart of the agent."""
        return self._in_force.waiting

    @property
    def outcome(self) -> str:
        """The effect of each field of the last change, as text."""
        return self._in_force.outcome

    def use_cgroup_driver(self, driver: str) -> None:
        """The runtime's cgroup driver takes precedence over the configuration."""
        self._in_force = self._in_force.with_cgroup_driver(driver)
        self._save_session()

    def apply(self, name: str, candidate: ValidConfiguration) -> None:
        """Put the configuration with the hash `name` in force, and order the restart of its consumers."""
        self._in_force, changed = self._in_force.changed_to(candidate.config, self._consumers, self._shards)
        ignored = unread(changed, self._consumers)
        # before the restarts are ordered: an actor that starts reads its configuration from the session
        self._save_session()
        if "logging" in changed:
            self._actor.tell(FORK_SERVER, set_logging(self.running.logging))
        if candidate.policies and candidate.policy != self._in_force.policy:
            self.set_policies(candidate)
            changed = (*changed, "supervision policy")
        self._log_change(name, changed, ignored)
        if self._in_force.to_restart:
            self.start_restart()

    def _log_change(self, name: str, changed: Iterable[str], ignored: Collection[str]) -> None:
        log, in_force = self._actor.log, self._in_force
        acting = [field for field in changed if field not in ignored]
        log.info("configuration %s: changed %s", name, ", ".join(acting) or "nothing")
        if in_force.waiting:
            log.warning("configuration %s: wait for a restart: %s", name, ", ".join(in_force.waiting))
        if ignored:
            log.warning("configuration %s: without effect, nothing reads them: %s", name, ", ".join(ignored))
        if in_force.to_restart:
            log.info("configuration %s: restarting %s", name, ", ".join(in_force.to_restart))

    def set_policies(self, candidate: ValidConfiguration) -> None:
        """Put the supervision policies of this configuration in force."""
        self._in_force = self._in_force.with_policy(candidate.policy)
        self._actor.tell(FORK_SERVER, SetPolicies(candidate.policies))

    def start_restart(self) -> None:
        """Order the rolling restart of the actors that the last incarnations or this one have still to restart."""
        self._actor.start_task(self._restart_consumers(), "rolling restart")

    async def _restart_consumers(self) -> None:
        """If this incarnation dies before the order is accepted, the next one repeats it."""
        names = self._in_force.to_restart
        if not names or not self._is_saved:  # they would start with the configuration before this one
            return
        try:
            await self._actor.ask(FORK_SERVER, RollingRestart(names), timeout=5.0)
        except AskError as error:
            self._actor.log.warning(
                "the fork server did not accept the restart of %s, it is ordered again: %s", ", ".join(names), error
            )
            self._actor.after(RETRY_SECONDS, self._restart_consumers)
        else:
            self._in_force = self._in_force.restarted(names)
            self._save_session()

    def _save_session(self) -> None:
        self._is_saved = False
        self._session()

    def _write_session(self) -> None:
        session.save(self._session_file, self._in_force.running, self._in_force.to_restart)
        self._is_saved = True
