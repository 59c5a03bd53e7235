"""The config controller: holds the effective configuration and follows its sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import cast

import msgspec

from actors.shared.clock_jumps import ClockJumps
from actors.shared.config import feature_gates
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.flags.flagz import flags_in_force
from actors.shared.config.sources import configz
from actors.shared.config.sources.checkpoints import ConfigCheckpoints
from actors.shared.config.version import git_version
from actors.shared.repeated_save import RepeatedSave
from supervision.actor import Actor, Address, AskError, on
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER, GetTree, Shutdown
from supervision.spec import PolicySettings

from . import session, trial
from .candidates import Candidates
from .consumers import Consumers
from .file_watch import ConfigFileWatch, LockFileWatch, SourceWatches
from .messages import CgroupDriverLearnt, ConfigMapAssigned, Configz, Flagz, GetConfigz, GetFlagz
from .running_configuration import RunningConfiguration
from .sources import ConfigSources, spec_of
from .trial_checks import TrialChecks


class ConfigController(Actor):
    """Watches the configuration files and applies their changes. Its messages are in messages.py."""

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        consumers: Consumers | None = None,
        optional: Sequence[ActorName] = (),
        declared_policies: Mapping[ActorName, PolicySettings] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: seconds since 1970. `consumers`: which actor reads which field. `optional`: actors that need not be
        in the tree. `declared_policies`: settings by name; a name may end in `*`."""
        super().__init__()
        self._clock, self._consumers, self._optional = clock, consumers or {}, optional
        self._declared_policies = declared_policies or {}
        self._jumps = ClockJumps(clock, monotonic)

    @property
    def _agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        agent = self._agent
        self._error = ""
        self._sources = ConfigSources(agent, self._optional)
        self._store = ConfigCheckpoints(agent.config_checkpoint_dir)
        self._store.prepare()
        self._candidates = Candidates(self._sources, self._store, agent.config_hash)
        self._state = self._store.state()
        self._checkpoint = RepeatedSave(self, self._write_checkpoint, "the checkpoint of the configuration")
        self._configuration = RunningConfiguration(self, agent, self._consumers)
        self._trial_checks = TrialChecks(self, self._step, self._failed_supervisors)
        contention = bool(agent.flags.get("exit-on-lock-contention"))
        lock_file = LockFileWatch(agent.flags["lock-file"], self._stop_on_contention) if contention else None
        self._watches = SourceWatches(self, ConfigFileWatch(self, self.follow), lock_file)
        self._count_constants()
        await self._look_at_tree()
        self._read()
        self._step(trial.AgentStarted(session.boot(), agent.config_hash))
        self._trial_checks.update(on_trial=self._state.trial_until > 0)  # also of an earlier incarnation's trial
        if self._configuration.is_continued:
            self._repeat_policies()
        self._configuration.start_restart()
        self.follow()
        self._look_later()

    async def on_stop(self) -> None:
        self._watches.close()
        self._step(trial.AgentStopping())

    async def _look_at_tree(self) -> None:
        """Ask for the tree once; a policy is validated against it."""
        if self._sources.lacks_tree:
            try:
                tree = await self.ask(FORK_SERVER, GetTree(memory=False), timeout=5.0)
            except AskError as error:
                self.log.warning("the supervision policy cannot be validated yet: %s", error)
            else:
                self._sources.learn_tree(spec_of(tree, self._declared_policies))

    def _count_constants(self) -> None:
        """Count what changes with a restart only: the name of the node, and the gates."""
        self.metrics.gauge("kubelet_node_name", 1, node=self._agent.node_name)
        for name, gate in feature_gates.GATES.items():
            on_now = self._agent.gate(name)
            self.metrics.gauge("kubernetes_feature_enabled", float(on_now), name=name, stage=gate.metric_stage)

    # -- questions ----------------------------------------------------------------------------------------------------
    @on(GetConfigz)
    def on_get_configz(self, message: GetConfigz, sender: Address) -> Configz:
        return Configz(msgspec.json.encode({"kubeletconfig": configz.written(self._configuration.running)}))

    @on(GetFlagz)
    def on_get_flagz(self, message: GetFlagz, sender: Address) -> Flagz:
        running = self._configuration.running
        gates = feature_gates.all_states(running.featureGates)
        given = tuple(sorted(self._agent.flags_given))
        problems = tuple(self._error.splitlines())
        rolled_back = () if problems else trial.not_in_force(self._state)
        return Flagz(
            flags=flags_in_force(self._agent, running),
            given=given,
            gates=gates,
            version=git_version(),
            waiting=self._configuration.waiting,
            refused=problems or rolled_back,
            rolled_back=self._state.assigned if rolled_back else "",
            source=trial.origin(self._state),
        )

    @on(CgroupDriverLearnt)
    def on_cgroup_driver(self, message: CgroupDriverLearnt, sender: Address) -> None:
        """/configz shows the cgroup driver of the runtime."""
        self._configuration.use_cgroup_driver(message.driver)

    @on(ConfigMapAssigned)
    def on_config_map(self, message: ConfigMapAssigned, sender: Address) -> None:
        if self._agent.gate("DynamicKubeletConfig"):
            self._sources.use_config_map(message if message.data else None)
            self.follow()
        else:
            self.log.warning("ConfigMap %s is ignored: the gate DynamicKubeletConfig is off", message.name)

    # -- following the sources --------------------------------------------------------------------------------------
    def _stop_on_contention(self) -> None:
        self.log.warning("another agent opened %s: this agent stops", self._agent.flags["lock-file"])
        self.start_task(self._shut_down(), "shutdown")

    async def _shut_down(self) -> None:
        with suppress(AskError):
            await self.ask(FORK_SERVER, Shutdown())

    async def _look_and_follow(self) -> None:
        await self._look_at_tree()
        self.follow()
        self._look_later()

    def _look_later(self) -> None:
        self.after(self._watches.poll_seconds, self._look_and_follow)

    def follow(self) -> None:
        """Read the sources; apply their configuration if it is new and valid."""
        self._watches.watch(self._sources.directories())
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
        self._follow_clock()
        state, name = trial.decide(self._state, event, self._clock())
        if state == self._state or (name and not self._apply(name)):
            return
        self._state = trial.with_outcome(state, self._configuration.outcome) if name else state
        self._save()
        self._trial_checks.update(on_trial=self._state.trial_until > 0)

    def _follow_clock(self) -> None:
        self._state = trial.clock_was_set(self._state, self._jumps.take())

    def _failed_supervisors(self, ages: Mapping[str, float]) -> list[str]:
        self._follow_clock()
        return trial.supervisors_that_gave_up(self._state, ages, self._clock())

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
        self._configuration.apply(name, candidate)
        return True

    def _repeat_policies(self) -> None:
        """Send the policies again: the last incarnation may have died before it sent them."""
        with suppress(ConfigErrors):
            candidate = self._candidates.validated(self._state.current)
            if candidate is not None and candidate.policies:
                self._configuration.set_policies(candidate)

    # -- checkpoints --------------------------------------------------------------------------------------------------
    def _write_checkpoint(self) -> None:
        """Raises OSError."""
        try:
            self._candidates.checkpoint(self._state.current)
            self._store.save(self._state)
        except OSError:
            self.metrics.count("config_checkpoint_errors_total")
            raise

    def _save(self) -> None:
        """Write the checkpoint. While the disk cannot be written, the agent continues without one."""
        state = self._state
        self._checkpoint()
        for damaged in self._store.take_damaged():
            self.log.error("checkpoint %s is damaged: it was moved aside", damaged)
        self._candidates.keep({state.assigned, state.current, state.last_known_good})
