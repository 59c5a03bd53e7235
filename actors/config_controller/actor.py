"""The config controller: holds the effective configuration and follows its sources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec

from actors.shared.config import feature_gates
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.log_settings import set_logging
from actors.shared.config.flags.flagz import flags_in_force
from actors.shared.config.sources.checkpoints import Store
from actors.shared.config.sources.effective import to_plain
from actors.shared.config.version import git_version
from actors.shared.linux.inotify import OPENED, Watcher
from supervision.actor import Actor, Address, AskError, Timer, on
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER, GetTree, RollingRestart, Shutdown
from supervision.spec import SetPolicies

from . import session, trial
from .candidates import Candidates
from .consumers import Consumers
from .in_force import InForce
from .messages import CgroupDriverLearnt, ConfigMapAssigned, Configz, Flagz, GetConfigz, GetFlagz
from .sources import Sources, Wanted, spec_of

SETTLE_SECONDS = 0.3
"""The files are read this long after the last event: an editor or a copy has then finished."""
LOOK_SECONDS = 60.0
"""How often the files are read without an event, for file systems that give none."""
TRIAL_CHECK_SECONDS = 10.0
"""How often the controller looks at the supervisors during a trial."""
RETRY_SECONDS = 1.0
"""The pause before a rolling restart is ordered again."""


class ConfigController(Actor):
    """messages.py has its messages. It follows the files by itself."""

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        consumers: Consumers | None = None,
        optional: Sequence[ActorName] = (),
    ) -> None:
        """`consumers`: which actor reads which field. `optional`: actors that need not be in the tree."""
        super().__init__()
        self._clock, self._consumers, self._optional = clock, consumers or {}, optional

    @property
    def _agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        agent = self._agent
        self._error = ""
        self._restarts: dict[str, int] = {}
        self._settle: Timer | None = None
        self._checks: Timer | None = None
        self._sources = Sources(agent, self._optional)
        self._store = Store(agent.config_checkpoint_dir)
        self._store.prepare()
        self._candidates = Candidates(self._sources, self._store, agent.config_hash)
        self._state = self._store.state()
        before = session.recall(self._session_file)
        running = agent.config if before is None else before.configuration()
        to_restart = () if before is None else before.to_restart
        self._in_force = InForce(running=running, wanted=running, policy=agent.policy, to_restart=to_restart)
        self._watcher = Watcher()
        asyncio.get_running_loop().add_reader(self._watcher.fileno(), self._on_files)
        self._watch_lock()
        self._count_gates()
        await self._look_at_tree()
        self._read()
        self._step(trial.Booted(session.boot(), agent.config_hash))
        if before is not None:
            self._repeat_policies()
        self.start_task(self._restart_consumers(), "rolling restart")
        self.follow()
        self.every(LOOK_SECONDS, self._look, jitter=0.1)

    async def on_stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watcher.fileno())
        self._watcher.close()
        if self._lock is not None:
            asyncio.get_running_loop().remove_reader(self._lock.fileno())
            self._lock.close()
        self._step(trial.Ending())

    @property
    def _session_file(self) -> Path:
        return Path(self._agent.config_checkpoint_dir) / session.SESSION_FILE

    async def _look_at_tree(self) -> None:
        """Ask for the tree, against which a policy is validated, once."""
        if self._sources.lacks_tree:
            try:
                tree = await self.ask(FORK_SERVER, GetTree(memory=False), timeout=5.0)
            except AskError as error:
                self.log.warning("the supervision policy is not followed: %s", error)
            else:
                self._sources.tree = spec_of(tree)

    def _count_gates(self) -> None:
        """Gates change with a restart only."""
        for name, gate in feature_gates.GATES.items():
            on_now = self._agent.gate(name)
            self.metrics.gauge("kubernetes_feature_enabled", float(on_now), name=name, stage=gate.metric_stage)

    # -- asked ------------------------------------------------------------------------------------------------------
    @on(GetConfigz)
    def on_get_configz(self, message: GetConfigz, sender: Address) -> Configz:
        return Configz(msgspec.json.encode({"kubeletconfig": to_plain(self._in_force.running)}))

    @on(GetFlagz)
    def on_get_flagz(self, message: GetFlagz, sender: Address) -> Flagz:
        running = self._in_force.running
        gates = feature_gates.all_states(running.featureGates)
        given = tuple(sorted(self._agent.flags_given))
        return Flagz(flags_in_force(self._agent, running), given, gates, git_version())

    @on(CgroupDriverLearnt)
    def on_cgroup_driver(self, message: CgroupDriverLearnt, sender: Address) -> None:
        """The runtime's answer is what /configz shows."""
        self._in_force = self._in_force.with_cgroup_driver(message.driver)
        self._remember()

    @on(ConfigMapAssigned)
    def on_config_map(self, message: ConfigMapAssigned, sender: Address) -> None:
        if self._agent.gate("DynamicKubeletConfig"):
            self._sources.remote = message if message.data else None
            self.follow()
        else:
            self.log.warning("ConfigMap %s is ignored: the gate DynamicKubeletConfig is off", message.name)

    # -- following the sources --------------------------------------------------------------------------------------
    def _on_files(self) -> None:
        if self._watcher.read():
            if self._settle is not None:
                self._settle.cancel()
            self._settle = self.after(SETTLE_SECONDS, self.follow)

    def _watch_lock(self) -> None:
        self._lock: Watcher | None = None
        if self._agent.flags.get("exit-on-lock-contention"):
            self._lock = Watcher()
            self._lock.add(self._agent.flags["lock-file"], OPENED)
            asyncio.get_running_loop().add_reader(self._lock.fileno(), self._on_contention)

    def _on_contention(self) -> None:
        if self._lock is not None and self._lock.read():
            self.log.warning("another agent wants %s: this one ends", self._agent.flags["lock-file"])
            self.start_task(self._shut_down(), "shutdown")

    async def _shut_down(self) -> None:
        with suppress(AskError):
            await self.ask(FORK_SERVER, Shutdown())

    async def _look(self) -> None:
        await self._look_at_tree()
        self.follow()

    def follow(self) -> None:
        """Read the sources; put in force what they say when it is new and valid."""
        self._watcher.add_all(self._sources.directories())
        request = self._store.take_request()
        if request is not None:
            self._roll_back(request)
        name = self._read()
        if name:
            self._step(trial.Offered(name, self._sources.described()))

    def _read(self) -> str:
        """The hash of what the sources say; '' when it cannot be used, which is logged once."""
        try:
            name = self._candidates.read()
        except ConfigErrors as error:
            text = str(error)
            if text != self._error:
                self._error = text
                self.log.error("the configuration stays as it is, the new one cannot be used: %s", text)
                self._step(trial.Refused(text[:2000]))
            return ""
        self._error = ""
        return name

    def _roll_back(self, name: str) -> None:
        target = name or self._state.last_known_good
        if self._candidates.layers(target) is None:
            self.log.error("there is no configuration %s to roll back to", target or "known to be good")
        else:
            self._step(trial.Back(target))

    # -- putting in force -------------------------------------------------------------------------------------------
    def _step(self, event: trial.Event) -> None:
        state, name = trial.decide(self._state, event, self._clock())
        if state == self._state or (name and not self._apply(name)):
            return
        self._state = trial.with_waiting(state, self._in_force.waiting) if name else state
        self._save()
        self._watch_trial()

    def _apply(self, name: str) -> bool:
        """Whether the configuration of this hash is in force now."""
        try:
            wanted = self._candidates.wanted(name)
        except ConfigErrors as error:
            self.log.error("configuration %s cannot be used any more: %s", name, str(error))
            return False
        if wanted is None:
            self.log.error("configuration %s is lost: the one in force stays", name)
            return False
        self._in_force, changed = self._in_force.changed_to(wanted.config, self._consumers, self._agent.workers)
        # before the restarts are ordered: an actor that starts reads its configuration here
        self._remember()
        if "logging" in changed:
            self.tell(FORK_SERVER, set_logging(self._in_force.running.logging))
        if wanted.policies and wanted.policy != self._in_force.policy:
            self._set_policies(wanted)
            changed = (*changed, "supervision policy")
        self.log.info("configuration %s: changed %s", name, ", ".join(changed) or "nothing")
        if self._in_force.waiting:
            self.log.warning("configuration %s: wait for a restart: %s", name, ", ".join(self._in_force.waiting))
        if self._in_force.to_restart:
            self.log.info("configuration %s: restarting %s", name, ", ".join(self._in_force.to_restart))
            self.start_task(self._restart_consumers(), "rolling restart")
        return True

    def _repeat_policies(self) -> None:
        """The last incarnation may have died between the decision and its order."""
        with suppress(ConfigErrors):
            wanted = self._candidates.wanted(self._state.current)
            if wanted is not None and wanted.policies:
                self._set_policies(wanted)

    def _set_policies(self, wanted: Wanted) -> None:
        self._in_force = self._in_force.with_policy(wanted.policy)
        self.tell(FORK_SERVER, SetPolicies(wanted.policies))

    async def _restart_consumers(self) -> None:
        """Order the rolling restart. The next incarnation orders it when this one ends before it is accepted."""
        names = self._in_force.to_restart
        if not names:
            return
        try:
            await self.ask(FORK_SERVER, RollingRestart(names), timeout=5.0)
        except AskError as error:
            self.log.warning("the restart of %s is ordered again: %s", ", ".join(names), error)
            self.after(RETRY_SECONDS, self._restart_consumers)
        else:
            self._in_force = self._in_force.restarted(names)
            self._remember()

    # -- kept on disk -----------------------------------------------------------------------------------------------
    def _remember(self) -> None:
        session.remember(self._session_file, self._in_force.running, self._in_force.to_restart)

    def _save(self) -> None:
        """Write the checkpoint. On a disk that cannot be written to, the agent goes on without one."""
        state = self._state
        try:
            self._candidates.checkpoint(state.current)
            self._store.save(state)
        except OSError as error:
            self.metrics.count("config_checkpoint_errors_total")
            self.log.error("the configuration cannot be checkpointed: %s", error)
        for damaged in self._store.take_damaged():
            self.log.error("checkpoint %s was damaged and is set aside", damaged)
        self._candidates.keep({state.assigned, state.current, state.last_known_good})

    # -- trials -----------------------------------------------------------------------------------------------------
    def _watch_trial(self) -> None:
        """Look at the supervisors while there is a trial, and only then."""
        on_trial = self._state.trial_until > 0
        if on_trial and self._checks is None:
            self._restarts = {}
            self._checks = self.every(TRIAL_CHECK_SECONDS, self._check_trial, immediately=True)
        elif not on_trial and self._checks is not None:
            self._checks.cancel()
            self._checks = None

    async def _check_trial(self) -> None:
        """The trial fails when a supervisor reaches its restart intensity."""
        try:
            tree = await self.ask(FORK_SERVER, GetTree(memory=False), timeout=5.0)
        except AskError:
            return
        found = {one.name: (one.restarts, one.last_incident) for one in tree.actors if one.kind == "supervisor"}
        failed = trial.gave_up(found, self._restarts)
        self._restarts = {name: restarts for name, (restarts, _) in found.items()}
        self._step(trial.Failed(f"{', '.join(failed)} reached its restart intensity") if failed else trial.Tick())
