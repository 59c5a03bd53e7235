"""The config controller: holds the effective configuration and follows its sources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec

from actors.shared.config import feature_gates
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.log_settings import set_logging
from actors.shared.config.flags.flagz import flags_in_force
from actors.shared.config.sources.checkpoints import ConfigCheckpoints
from actors.shared.config.sources.effective import to_plain
from actors.shared.config.version import git_version
from actors.shared.linux.inotify import OPENED, Watcher
from supervision.actor import Actor, Address, AskError, Timer, on
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER, GetTree, RollingRestart, Shutdown
from supervision.spec import Policy, SetPolicies

from . import session, trial
from .candidates import Candidates
from .consumers import UNREAD, Consumers
from .in_force import InForce
from .messages import CgroupDriverLearnt, ConfigMapAssigned, Configz, Flagz, GetConfigz, GetFlagz
from .sources import ConfigSources, ValidConfiguration, spec_of

SETTLE_SECONDS = 0.3
"""The controller reads the files this long after the last event, when an editor or a copy has finished."""
LOOK_SECONDS = 60.0
"""How often the controller reads the files without an event: some file systems give none."""
TRIAL_CHECK_SECONDS = 10.0
"""How often the controller looks at the supervisors during a trial."""
RETRY_SECONDS = 1.0
"""The pause before a rolling restart is ordered again."""


class ConfigController(Actor):
    """Watches the configuration files and applies their changes. Its messages are in messages.py."""

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        consumers: Consumers | None = None,
        optional: Sequence[ActorName] = (),
        default_policies: Mapping[ActorName, Policy] | None = None,
    ) -> None:
        """`consumers`: which actor reads which field. `optional`: actors that need not be in the tree.
        `default_policies`: by name; a name may end in `*`."""
        super().__init__()
        self._clock, self._consumers, self._optional = clock, consumers or {}, optional
        self._default_policies = default_policies or {}

    @property
    def _agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        agent = self._agent
        self._error = ""
        self._restarts: dict[str, int] = {}
        self._settle: Timer | None = None
        self._checks: Timer | None = None
        self._sources = ConfigSources(agent, self._optional)
        self._store = ConfigCheckpoints(agent.config_checkpoint_dir)
        self._store.prepare()
        self._candidates = Candidates(self._sources, self._store, agent.config_hash)
        self._state = self._store.state()
        previous = session.load(self._session_file)
        running = agent.config if previous is None else previous.configuration()
        to_restart = () if previous is None else previous.to_restart
        self._in_force = InForce(running=running, desired=running, policy=agent.policy, to_restart=to_restart)
        self._watcher = Watcher()
        asyncio.get_running_loop().add_reader(self._watcher.fileno(), self._on_files)
        self._watch_lock()
        self._count_constants()
        await self._look_at_tree()
        self._read()
        self._step(trial.AgentStarted(session.boot(), agent.config_hash))
        if previous is not None:
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
        self._step(trial.AgentStopping())

    @property
    def _session_file(self) -> Path:
        return Path(self._agent.config_checkpoint_dir) / session.SESSION_FILE

    async def _look_at_tree(self) -> None:
        """Ask for the tree once; a policy is validated against it."""
        if self._sources.lacks_tree:
            try:
                tree = await self.ask(FORK_SERVER, GetTree(memory=False), timeout=5.0)
            except AskError as error:
                self.log.warning("the supervision policy cannot be validated yet: %s", error)
            else:
                self._sources.learn_tree(spec_of(tree, self._default_policies))

    def _count_constants(self) -> None:
        """Count what changes with a restart only: the name of the node, and the gates."""
        self.metrics.gauge("kubelet_node_name", 1, node=self._agent.node_name)
        for name, gate in feature_gates.GATES.items():
            on_now = self._agent.gate(name)
            self.metrics.gauge("kubernetes_feature_enabled", float(on_now), name=name, stage=gate.metric_stage)

    # -- questions ----------------------------------------------------------------------------------------------------
    @on(GetConfigz)
    def on_get_configz(self, message: GetConfigz, sender: Address) -> Configz:
        return Configz(msgspec.json.encode({"kubeletconfig": to_plain(self._in_force.running)}))

    @on(GetFlagz)
    def on_get_flagz(self, message: GetFlagz, sender: Address) -> Flagz:
        running = self._in_force.running
        gates = feature_gates.all_states(running.featureGates)
        given = tuple(sorted(self._agent.flags_given))
        return Flagz(flags_in_force(self._agent, running), given, gates, git_version(), self._in_force.waiting)

    @on(CgroupDriverLearnt)
    def on_cgroup_driver(self, message: CgroupDriverLearnt, sender: Address) -> None:
        """/configz shows the cgroup driver of the runtime."""
        self._in_force = self._in_force.with_cgroup_driver(message.driver)
        self._save_session()

    @on(ConfigMapAssigned)
    def on_config_map(self, message: ConfigMapAssigned, sender: Address) -> None:
        if self._agent.gate("DynamicKubeletConfig"):
            self._sources.use_config_map(message if message.data else None)
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
            self.log.warning("another agent opened %s: this agent stops", self._agent.flags["lock-file"])
            self.start_task(self._shut_down(), "shutdown")

    async def _shut_down(self) -> None:
        with suppress(AskError):
            await self.ask(FORK_SERVER, Shutdown())

    async def _look(self) -> None:
        await self._look_at_tree()
        self.follow()

    def follow(self) -> None:
        """Read the sources; apply their configuration if it is new and valid."""
        self._watcher.add_all(self._sources.directories())
        request = self._store.take_request()
        if request is not None:
            self._roll_back(request)
        name = self._read()
        if name:
            self._step(trial.NewConfiguration(name, self._sources.described()))

    def _read(self) -> str:
        """The hash of the configuration that the sources give; '' when it is invalid, which is logged once."""
        try:
            name = self._candidates.read()
        except ConfigErrors as error:
            text = str(error)
            if text != self._error:
                self._error = text
                self.log.error("the new configuration is invalid, the current one stays in force: %s", text)
                self._step(trial.InvalidConfiguration(text[:2000]))
            return ""
        self._error = ""
        return name

    def _roll_back(self, name: str) -> None:
        target = name or self._state.last_known_good
        if self._candidates.layers(target) is None:
            self.log.error("cannot roll back: there is no configuration %s", target or "that is known good")
        else:
            self._step(trial.RollBack(target))

    # -- applying -----------------------------------------------------------------------------------------------------
    def _step(self, event: trial.Event) -> None:
        state, name = trial.decide(self._state, event, self._clock())
        if state == self._state or (name and not self._apply(name)):
            return
        self._state = trial.with_outcome(state, self._in_force.outcome) if name else state
        self._save()
        self._watch_trial()

    def _apply(self, name: str) -> bool:
        """Put the configuration with this hash in force. False when it is invalid or not known."""
        try:
            candidate = self._candidates.validated(name)
        except ConfigErrors as error:
            self.log.error("configuration %s is no longer valid: %s", name, str(error))
            return False
        if candidate is None:
            self.log.error("configuration %s has no readable checkpoint: the current one stays in force", name)
            return False
        self._in_force, changed = self._in_force.changed_to(candidate.config, self._consumers, self._agent.workers)
        # before the restarts are ordered: an actor that starts reads its configuration from the session
        self._save_session()
        if "logging" in changed:
            self.tell(FORK_SERVER, set_logging(self._in_force.running.logging))
        if candidate.policies and candidate.policy != self._in_force.policy:
            self._set_policies(candidate)
            changed = (*changed, "supervision policy")
        acting = [field for field in changed if field not in UNREAD]
        self.log.info("configuration %s: changed %s", name, ", ".join(acting) or "nothing")
        if self._in_force.waiting:
            self.log.warning("configuration %s: wait for a restart: %s", name, ", ".join(self._in_force.waiting))
        if ignored := [field for field in changed if field in UNREAD]:
            self.log.warning("configuration %s: without effect, nothing reads them: %s", name, ", ".join(ignored))
        if self._in_force.to_restart:
            self.log.info("configuration %s: restarting %s", name, ", ".join(self._in_force.to_restart))
            self.start_task(self._restart_consumers(), "rolling restart")
        return True

    def _repeat_policies(self) -> None:
        """Send the policies again: the last incarnation may have died before it sent them."""
        with suppress(ConfigErrors):
            candidate = self._candidates.validated(self._state.current)
            if candidate is not None and candidate.policies:
                self._set_policies(candidate)

    def _set_policies(self, candidate: ValidConfiguration) -> None:
        self._in_force = self._in_force.with_policy(candidate.policy)
        self.tell(FORK_SERVER, SetPolicies(candidate.policies))

    async def _restart_consumers(self) -> None:
        """Order the rolling restart. If this incarnation dies before it is accepted, the next one orders it."""
        names = self._in_force.to_restart
        if not names:
            return
        try:
            await self.ask(FORK_SERVER, RollingRestart(names), timeout=5.0)
        except AskError as error:
            self.log.warning(
                "the fork server did not accept the restart of %s, it is ordered again: %s", ", ".join(names), error
            )
            self.after(RETRY_SECONDS, self._restart_consumers)
        else:
            self._in_force = self._in_force.restarted(names)
            self._save_session()

    # -- checkpoints --------------------------------------------------------------------------------------------------
    def _save_session(self) -> None:
        session.save(self._session_file, self._in_force.running, self._in_force.to_restart)

    def _save(self) -> None:
        """Write the checkpoint. When the disk cannot be written, the agent continues without one."""
        state = self._state
        try:
            self._candidates.checkpoint(state.current)
            self._store.save(state)
        except OSError as error:
            self.metrics.count("config_checkpoint_errors_total")
            self.log.error("cannot write the checkpoint of the configuration: %s", error)
        for damaged in self._store.take_damaged():
            self.log.error("checkpoint %s is damaged: it was moved aside", damaged)
        self._candidates.keep({state.assigned, state.current, state.last_known_good})

    # -- trials -----------------------------------------------------------------------------------------------------
    def _watch_trial(self) -> None:
        """Check the supervisors during a trial only."""
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
        supervisors = {
            each.name: (each.restarts, each.last_incident) for each in tree.actors if each.kind == "supervisor"
        }
        failed = trial.supervisors_that_gave_up(supervisors, self._restarts)
        self._restarts = {name: restarts for name, (restarts, _) in supervisors.items()}
        self._step(
            trial.TrialFailed(f"{', '.join(failed)} reached its restart intensity") if failed else trial.TrialTick()
        )
