"""`supervise start`: from the command line to a running tree. Other modules do the steps; this one has their order."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.commands import early_text
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.fields.log_settings import set_logging
from actors.shared.config.flags import parsing
from actors.shared.config.flags.run_once import RUN_ONCE_FLAGS
from actors.shared.config.loading import agent_flags
from actors.shared.config.paths import default_policy_file, default_root_dir
from actors.shared.config.start import refused_starts
from actors.shared.config.start.steps import first_log_lines, prepare_host
from actors.shared.metrics import METRICS
from actors.tree import AT_END, REFRESH, preload_modules, prepare_functions, tree
from actors.volume_manager.declaration import when_killed
from supervision import logs, time_scale
from supervision.application import Application, LastSteps, OwnDirectories, ShownFiles
from supervision.errors import error_text
from supervision.fork_server.lock import holder_of
from supervision.fork_server.main import run
from supervision.hanging_disks import HANGS, REMEDY, Ask, Asker
from supervision.incidents.incident_file import Incidents
from supervision.incidents.spare_incidents import SPARE_NAME
from supervision.spec import ChildSpec, Policy

from . import memory_profile, start_checks
from .validation import load_with_all, policies

if TYPE_CHECKING:
    from actors.shared.api.kubeconfig import KubeconfigLoad

EXIT_REFUSED: Final = 1
"""Exit code if the flags, the configuration, the policy or the host prevent the start."""

log = logging.getLogger("fork_server")


def start(argv: Sequence[str], program: str = "supervise start") -> int:
    """Run the agent until it is stopped; `program` is its name in --help. Returns the exit code."""
    try:
        text = early_text(argv, program)
        if text is not None:
            sys.stdout.write(text)
            return 0
    except ConfigErrors as errors:
        return _refuse([str(problem) for problem in errors.problems], argv)
    with Asker() as disks:
        try:
            _require_disk(argv, disks.require_answer)
            application = _load_and_prepare(argv, disks.require_answer)
        except ConfigErrors as errors:
            return _refuse([str(problem) for problem in errors.problems], argv)
        except _Refused as error:
            return _refuse([str(error)], argv)
        refused_starts.forget(str(application.run_dir))
        return run(application, lambda why: refused_starts.record(argv, [why]), disks)


def _require_disk(argv: Sequence[str], ask: Ask) -> None:
    """Raises _Refused if the disk of --root-dir hangs: nobody could end a start that waits for it, and a service
    manager tries again."""
    root_dir = agent_flags(parsing.parse(argv).values, os.getcwd())["root-dir"]
    try:
        ask(Path(root_dir, "troupelet"), writes=True)
    except TimeoutError:
        raise _Refused(f"--root-dir: {root_dir}: {HANGS}: {REMEDY}") from None


def _load_and_prepare(argv: Sequence[str], ask: Ask) -> Application:
    """Where the configuration of the files was rolled back, the application is that of the last known good one, unless
    that prevents the start: a state file may be of another policy since. Raises ConfigErrors and _Refused."""
    agent = None
    try:
        agent = load_with_all(argv)
        return _prepare(agent, ask)
    except ConfigErrors as errors:
        in_files = load_with_all(argv, recover=False)
        if agent is None or agent.config_hash == in_files.config_hash:
            raise
        note = f"configuration {agent.config_hash}, the last known good, prevents the start: {errors.problems[0]}"
        instead = f"{note}; starting with {in_files.config_hash}, that of the files, though it was rolled back"
        return _prepare(msgspec.structs.replace(in_files, warnings=(*in_files.warnings, instead)), ask)


def _prepare(agent: Agent, ask: Ask) -> Application:
    """Check the configuration against the host, make on the host what the tree needs, and describe the tree. Raises
    ConfigErrors and _Refused."""
    loading = _start_load(agent)
    try:
        supervised = _set_up_host(agent, ask)
    except ConfigErrors:
        if loading is not None:
            loading.end()
        raise
    application = _application(agent, _container_runtime(agent), supervised)
    return application if loading is None else _with_access(application, agent, loading)


def _set_up_host(agent: Agent, ask: Ask) -> dict[str, Policy]:
    """Returns the supervision policies, which are checked with the host. Raises ConfigErrors, with every problem, and
    _Refused."""
    _configure_logs(agent)
    for verbosity, line in first_log_lines(agent):
        log.log(logs.V(verbosity), "%s", line)
    time_scale.establish(log)
    makes_way = bool(agent.flags.get("lock-file"))  # another agent may end once this one opens the file
    wrong = [*start_checks.problems(agent), *(() if makes_way else _others_here(agent, ask))]
    found = policies(agent, wrong)
    made = start_checks.missing_cgroups(agent)
    _warn(prepare_host(agent, say=lambda line: log.info("%s", line), more=wrong, made=made))
    _warn(start_checks.warnings(agent))
    _warn(start_checks.enter_cgroup(agent))
    if makes_way and (others := list(_others_here(agent, ask))):
        raise ConfigErrors(others)
    _take_over_records(agent)
    return found


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        log.warning("%s", warning)


def _start_load(agent: Agent) -> KubeconfigLoad | None:
    """Start to load the kubeconfig in another process. None: there is none, or it is invalid, which is reported
    later."""
    if agent.standalone:
        return None
    from actors.shared.api.kubeconfig import KubeconfigError, KubeconfigLoad

    try:
        return KubeconfigLoad(agent.kubeconfig)
    except KubeconfigError:
        return None


def _with_access(application: Application, agent: Agent, loading: KubeconfigLoad) -> Application:
    """The application with the loaded credentials in its context. If the loader failed, the actors load them later."""
    from actors.shared.api.kubeconfig import KubeconfigError

    with suppress(ImportError):  # the fork server reports it
        for module in application.preload:
            import_module(module)  # imported while the loader runs, because they are needed anyway
    try:
        access = loading.access()
    except KubeconfigError as error:
        if not error.may_pass:
            raise _Refused(f"--kubeconfig: {error}") from None
        log.warning("%s", error)
        return application
    return replace(application, context=msgspec.structs.replace(agent, access=msgspec.msgpack.encode(access)))


class _Refused(Exception):
    """The start is not possible for a reason outside the configuration."""


def _refuse(problems: list[str], argv: Sequence[str]) -> int:
    from supervision.cli.text import plain

    refused_starts.record(argv, problems)
    for problem in problems:
        sys.stderr.write(f"error: {plain(problem)}\n")
    why = ""
    if os.geteuid() != 0 and not set(RUN_ONCE_FLAGS) <= set(sys.argv):  # `run-once` names its own command
        from supervision.cli.typed_commands import as_root

        why = f"; it needs root, and runs with uid {os.geteuid()}: try `{as_root(default_root_dir())}`"
    sys.stderr.write(f"troupelet does not start: {len(problems)} error{'s' if len(problems) > 1 else ''}{why}\n")
    return EXIT_REFUSED


def _others_here(agent: Agent, ask: Ask) -> Iterator[ConfigProblem]:
    """The agents, and the kubelet, that run on these directories, found before anything on the host is touched. The
    fork server locks later."""
    known = 0
    places = (("--root-dir", agent.state_dir, agent.root_dir), ("--run-dir", agent.run_dir, agent.run_dir))
    for flag, locked, directory in places:
        try:
            holder = holder_of(Path(locked), ask)
        except OSError:
            continue  # the fork server reports the error
        if holder and holder != known:  # one agent is one problem
            known = holder
            rule = f"an agent with pid {holder} already runs on {directory}: stop it first, or give another directory"
            yield ConfigProblem(flag, "", rule)
    from .other_kubelets import kubelet_here

    yield from kubelet_here(agent.root_dir)


def _take_over_records(agent: Agent) -> None:
    """The resources of pods from the files of an earlier version; with a full disk the next start does it."""
    from actors.container_manager.resizes.earlier_records import take_over
    from actors.shared.pod_records import RecordError

    try:
        take_over(agent.root_dir)
    except (RecordError, OSError) as error:
        log.warning("cannot take over the resources of pods from an earlier version: %s", error)


def _configure_logs(agent: Agent) -> None:
    wanted = set_logging(agent.config.logging)
    try:
        logs.configure(
            verbosity=wanted.verbosity,
            form=wanted.form,
            log_file=agent.log_file,
            vmodule=wanted.vmodule,
            split=wanted.split,
        )
    except OSError as error:
        raise _Refused(f"--log-file: {agent.log_file}: {error.strerror}") from None


def _container_runtime(agent: Agent) -> ChildSpec | None:
    """Prepare the managed containerd's files and images; return its program. None for an external runtime."""
    if not agent.managed_runtime:
        return None
    from actors.container_runtime.errors import RuntimeSetupError
    from actors.container_runtime.host import look
    from actors.container_runtime.host_setup import prepare as prepare_runtime
    from actors.container_runtime.image_import import ensure_images
    from actors.container_runtime.instance import ManagedRuntime
    from actors.container_runtime.program import child_spec
    from actors.shared.linux.systemd import managed_driver

    driver = managed_driver(agent.config.cgroupDriver)
    instance = ManagedRuntime(root=agent.managed_runtime_dir, state=agent.managed_state_dir, cgroup_driver=driver)
    cluster = not agent.standalone
    try:
        host = look(agent.root_dir)
        prepare_runtime(instance, host, cluster=cluster, pod_cidr=agent.config.podCIDR)
        ensure_images(instance, host)
    except (RuntimeSetupError, OSError) as error:
        raise _Refused(error_text(error)) from None
    return child_spec(instance, host, cluster=cluster)


def _application(agent: Agent, container_runtime: ChildSpec | None, supervised: dict[str, Policy]) -> Application:
    incident_file = Path(agent.state_dir) / "incidents.jsonl"
    return Application(
        name="troupelet",
        tree=tree(agent, container_runtime),
        policies=supervised,
        preload=preload_modules(agent),
        prepare=prepare_functions(agent),
        hot_functions=memory_profile.functions(),
        metrics=METRICS,
        context=agent,
        refresh=REFRESH,
        at_end=LastSteps(AT_END, when_killed(agent)),
        run_dir=Path(agent.run_dir),
        incidents=Incidents(incident_file, spare=Path(agent.run_dir) / SPARE_NAME),
        files=ShownFiles(agent.log_file, str(incident_file), agent.policy_file or default_policy_file()),
        directories=_own_directories(agent),
    )


def _own_directories(agent: Agent) -> OwnDirectories:
    """Read are those of the operator: somebody may watch their times."""
    files = (agent.config_file, agent.kubeconfig, agent.policy_file)
    read = (agent.config.staticPodPath, agent.config_dir, *(os.path.dirname(file) for file in files))
    written = (agent.cert_dir, agent.pod_logs_dir)
    return OwnDirectories(Path(agent.state_dir), written, tuple(path for path in dict.fromkeys(read) if path))
