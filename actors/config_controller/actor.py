"""The config controller: holds the effective configuration and follows its sources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec

from actors.shared.config import feature_gates
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.log_settings import set_logging
from actors.shared.config.flags.flagz import flags_in_force
from actors.shared.config.sources.checkpoints import Store, hash_of, layers_of
from actors.shared.config.sources.documents import Document
from actors.shared.config.sources.effective import to_json, to_plain
from actors.shared.config.version import git_version
from supervision.actor import Actor, Address, AskError, Timer, on
from supervision.protocol import FORK_SERVER, Done, GetTree, Hello, Renew, Shutdown, Tree
from supervision.spec import SetPolicies

from . import change, session, trial
from .messages import (
    CgroupDriverLearnt,
    ConfigChanged,
    ConfigMapAssigned,
    ConfigStatus,
    Configz,
    Flagz,
    GetConfigStatus,
    GetConfigz,
    GetFlagz,
    HistoryEntry,
    RollBack,
)
from .sources import Sources, Wanted, spec_of
from .watching import LockWatcher, Watcher

KUBE_CLIENT = "api_clients/kube_client"
SETTLE_SECONDS = 0.3
"""So long after the last event on the files they are read: an editor or a copy is then done."""
LOOK_SECONDS = 60.0
"""How often the files are read without an event, for file systems that give none."""
TRIAL_CHECK_SECONDS = 10.0
"""How often, during a trial, the supervisors are looked at."""


class ConfigController(Actor):
    """See messages.py for what it is told. It follows the files by itself."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock

    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        self._booted = self._running = self._wanted = self._agent.config
        self._listeners: set[str] = set()
        self._owed: tuple[str, ...] = ()
        self._documents: dict[str, list[Document]] = {}
        self._error = ""
        self._supervisors: dict[str, int] = {}
        self._settle: Timer | None = None
        self._checks: Timer | None = None
        self._sources = Sources(self._agent)
        self._judged = {self._agent.config_hash}  # by the start, this one
        self._policy = self._agent.policy
        self._store = Store(self._agent.config_checkpoint_dir)
        self._store.prepare()
        self._state = self._store.state()
        self._session_file = Path(self._agent.config_checkpoint_dir) / session.SESSION_FILE
        self._take_up()
        self._watcher = Watcher()
        asyncio.get_running_loop().add_reader(self._watcher.fileno(), self._on_files)
        self._watch_lock()
        self._count_gates()
        await self._look_at_tree()
        self._read()
        self._step(trial.Booted(session.boot(), self._agent.config_hash))
        self._repeat_policies()
        self.start_task(self._renew(), "renew")
        self.follow()
        if self._agent.gate("DynamicKubeletConfig") and not self._agent.standalone:
            # which then says what ConfigMap the node's annotation names
            self.after(0.0, lambda: self.tell(KUBE_CLIENT, Hello(self.name, self.incarnation), deadline=30.0))
        self.every(LOOK_SECONDS, self._look, jitter=0.1)

    async def _look_at_tree(self) -> None:
        """What a policy is judged by."""
        if self._sources.lacks_tree:
            try:
                tree = await self.ask(FORK_SERVER, GetTree(memory=False), Tree, timeout=5.0)
            except AskError as error:
                self.log.warning("the supervision policy is not followed: %s", error)
            else:
                self._sources.tree = spec_of(tree)

    def _count_gates(self) -> None:
        """Gates change with a restart only."""
        for name, gate in feature_gates.GATES.items():
            on_now = self._agent.gate(name)
            self.metrics.gauge("kubernetes_feature_enabled", float(on_now), name=name, stage=gate.metric_stage)

    async def on_stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watcher.fileno())
        self._watcher.close()
        if self._lock is not None:
            asyncio.get_running_loop().remove_reader(self._lock.fileno())
            self._lock.close()
        self._step(trial.Ending())

    async def on_hello(self, name: str) -> None:
        """Who says Hello takes changes while it runs; what changed since the agent was started is told at once."""
        if name not in self._listeners:
            self._listeners.add(name)
            self._remember()
        fields = change.told(change.differing(self._booted, self._running), [name]).get(name)
        if fields:
            self.tell(name, ConfigChanged(to_json(self._running), fields))

    # -- asked ------------------------------------------------------------------------------------------------------
    @on(GetConfigz)
    def on_get_configz(self, message: GetConfigz, sender: Address) -> Configz:
        return Configz(msgspec.json.encode({"kubeletconfig": to_plain(self._running)}))

    @on(GetFlagz)
    def on_get_flagz(self, message: GetFlagz, sender: Address) -> Flagz:
        gates = feature_gates.all_states(self._running.featureGates)
        given = tuple(sorted(self._agent.flags_given))
        return Flagz(flags_in_force(self._agent, self._running), given, gates, git_version())

    @on(GetConfigStatus)
    def on_get_status(self, message: GetConfigStatus, sender: Address) -> ConfigStatus:
        return self._status()

    @on(RollBack)
    def on_roll_back(self, message: RollBack, sender: Address) -> ConfigStatus:
        self._go_back(message.hash)
        return self._status()

    @on(CgroupDriverLearnt)
    def on_cgroup_driver(self, message: CgroupDriverLearnt, sender: Address) -> None:
        """What the runtime says is what is in force, and so what /configz shows."""
        self._running = msgspec.structs.replace(self._running, cgroupDriver=message.driver)
        self._wanted = msgspec.structs.replace(self._wanted, cgroupDriver=message.driver)
        self._remember()

    @on(ConfigMapAssigned)
    def on_config_map(self, message: ConfigMapAssigned, sender: Address) -> None:
        if self._agent.gate("DynamicKubeletConfig"):
            self._sources.remote = message if message.data else None
            self.follow()
        else:
            self.log.warning("ConfigMap %s is not heeded: DynamicKubeletConfig is off", message.name)

    def _status(self) -> ConfigStatus:
        state = self._state
        return ConfigStatus(
            assigned=state.assigned,
            current=state.current,
            last_known_good=state.last_known_good,
            trial_until=state.trial_until,
            error=self._error,
            pending=change.differing(self._running, self._wanted),
            history=tuple(HistoryEntry(item.when, item.hash, item.what, item.detail) for item in state.history),
        )

    # -- following the sources --------------------------------------------------------------------------------------
    def _on_files(self) -> None:
        if self._watcher.drain():
            if self._settle is not None:
                self._settle.cancel()
            self._settle = self.after(SETTLE_SECONDS, self.follow)

    def _watch_lock(self) -> None:
        self._lock: LockWatcher | None = None
        if self._agent.flags.get("exit-on-lock-contention"):
            self._lock = LockWatcher(self._agent.flags["lock-file"])
            asyncio.get_running_loop().add_reader(self._lock.fileno(), self._on_contention)

    def _on_contention(self) -> None:
        if self._lock is not None and self._lock.drain():
            self.log.warning("another agent wants %s: making way for it", self._agent.flags["lock-file"])
            self.tell(FORK_SERVER, Shutdown())

    async def _look(self) -> None:
        await self._look_at_tree()
        self.follow()

    def follow(self) -> None:
        """Read the sources; put in force what they say when it is new and obeys every rule."""
        self._watcher.watch(self._sources.directories())
        request = self._store.take_request()
        if request is not None:
            self._go_back(request)
        name = self._read()
        if name:
            self._step(trial.Offered(name, self._sources.described()))

    def _read(self) -> str:
        """The hash of what the sources say; '' when it cannot be used, which is said once."""
        try:
            documents = self._sources.read()
            name = hash_of(documents)
            if name not in self._judged:
                self._sources.judge(documents)
                if not self._sources.lacks_tree:
                    self._judged.add(name)
        except ConfigErrors as error:
            said = str(error)
            if said != self._error:
                self._error = said
                self.log.error("the configuration stays as it is, what is offered cannot be used: %s", said)
                self._step(trial.Refused(said[:2000]))
            return ""
        self._error = ""
        self._documents[name] = documents
        return name

    # -- putting in force -------------------------------------------------------------------------------------------
    def _step(self, event: trial.Event) -> None:
        state, name = trial.decide(self._state, event, self._clock())
        if state == self._state or (name and not self._apply(name)):
            return
        self._state = state
        self._save()
        self._arm()

    def _go_back(self, name: str) -> None:
        target = name or self._state.last_known_good
        if self._layers(target) is None:
            self.log.error("there is no configuration %s to go back to", target or "known to be good")
        else:
            self._step(trial.Back(target))

    def _layers(self, name: str) -> list[Document] | None:
        if name in self._documents:
            return self._documents[name]
        layers = self._store.layers(name)
        return None if layers is None else layers.documents()

    def _apply(self, name: str) -> bool:
        documents = self._layers(name)
        if documents is None:
            self.log.error("configuration %s is lost: what is in force stays", name)
            return False
        try:
            wanted = self._sources.judge(documents)
        except ConfigErrors as error:
            self.log.error("configuration %s cannot be used any more: %s", name, str(error))
            return False
        self._wanted = msgspec.structs.replace(wanted.config, cgroupDriver=self._running.cgroupDriver)
        changed = self._advance()
        if wanted.policies and wanted.policy != self._policy:
            self._set_policies(wanted)
            changed = (*changed, "supervision policy")
        waiting = change.differing(self._running, self._wanted)
        self.log.info("configuration %s: changed %s", name, ", ".join(changed) or "nothing")
        if waiting:
            self.log.warning("configuration %s: wait for a restart: %s", name, ", ".join(waiting))
        return True

    def _repeat_policies(self) -> None:
        """The incarnation before may have died between a decision and its order."""
        layers = self._layers(self._state.current) if self._taken_up else None
        if layers is not None:
            with suppress(ConfigErrors):
                wanted = self._sources.judge(layers)
                if wanted.policies:
                    self._set_policies(wanted)

    def _set_policies(self, wanted: Wanted) -> None:
        self._policy = wanted.policy
        self.tell(FORK_SERVER, SetPolicies(wanted.policies))

    def _advance(self) -> tuple[str, ...]:
        """Go towards what is wanted as far as that goes without a restart. The fields that changed."""
        self._running, changed = change.step(self._running, self._wanted)
        renewed = change.renewed(changed, self._listeners, self._agent.workers)
        self._owed = tuple(dict.fromkeys((*self._owed, *renewed)))
        # before anybody is renewed, who then begins with what is written here
        self._remember()
        if "logging" in changed:
            self.tell(FORK_SERVER, set_logging(self._running.logging))
        for name, fields in change.told(changed, self._listeners).items():
            self.tell(name, ConfigChanged(to_json(self._running), fields))
        if renewed:
            self.log.info("a changed configuration is for %s, which begin anew with it", ", ".join(renewed))
            self.start_task(self._renew(), "renew")
        return changed

    async def _renew(self) -> None:
        """Have those begin anew who are owed it; the next incarnation does it where this one does not come to it."""
        owed = self._owed
        if not owed:
            return
        try:
            await self.ask(FORK_SERVER, Renew(owed), Done, timeout=5.0)
        except AskError as error:
            self.log.warning("asking again for %s to begin anew: %s", ", ".join(owed), error)
            self.after(1.0, self._renew)
        else:
            self._owed = tuple(name for name in self._owed if name not in owed)
            self._remember()

    def _remember(self) -> None:
        session.remember(self._session_file, self._running, self._listeners, self._owed)

    def _save(self) -> None:
        """Keep what is in force on disk. A disk that cannot be written to costs the memory of it, not the agent."""
        name = self._state.current
        try:
            if name in self._documents:
                self._store.put(name, layers_of(self._documents[name]))
            self._store.save(self._state)
        except OSError as error:
            self.metrics.count("config_checkpoint_errors_total")
            self.log.error("the configuration cannot be checkpointed: %s", error)
        for damaged in self._store.take_damaged():
            self.log.error("checkpoint %s was damaged and is set aside", damaged)
        known = {self._state.assigned, name, self._state.last_known_good}
        self._documents = {key: value for key, value in self._documents.items() if key in known}

    def _take_up(self) -> None:
        """Go on where the incarnation before left off."""
        known = session.recall(self._session_file)
        self._taken_up = known is not None
        self._owed = known.owed if known is not None else ()
        if known is not None:
            self._running = self._wanted = known.configuration()
            self._listeners = set(known.listeners)

    # -- trials -----------------------------------------------------------------------------------------------------
    def _arm(self) -> None:
        """Look at the supervisors while there is a trial, and only then."""
        on_trial = self._state.trial_until > 0
        if on_trial and self._checks is None:
            self._supervisors = {}
            self._checks = self.every(TRIAL_CHECK_SECONDS, self._check_trial, immediately=True)
        elif not on_trial and self._checks is not None:
            self._checks.cancel()
            self._checks = None

    async def _check_trial(self) -> None:
        """A supervisor that gave up during a trial had reached its intensity: the configuration is to blame."""
        try:
            tree = await self.ask(FORK_SERVER, GetTree(memory=False), Tree, timeout=5.0)
        except AskError:
            return
        supervisors = [state for state in tree.actors if state.kind == "supervisor"]
        counts = {state.name: state.restarts for state in supervisors}
        gave_up = [state.name for state in supervisors if state.last_incident.startswith("exit")]
        worse = [name for name in gave_up if counts[name] > self._supervisors.get(name, counts[name])]
        self._supervisors = counts
        self._step(trial.Failed(f"{', '.join(worse)} reached its restart intensity") if worse else trial.Tick())
