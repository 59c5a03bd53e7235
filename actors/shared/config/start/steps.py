"""The steps of a start before the tree: check the host, take the lock, make directories, set process limits.

    agent = load(argv)
    warnings = prepare_host(agent)  # raises ConfigErrors; then Application(context=agent, ...)

Problems that are fatal for the kubelet raise; others are warnings.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from actors.shared.config.agent import Agent
from actors.shared.config.errors import MASKED, ConfigErrors, ConfigProblem, shown
from actors.shared.config.sources.effective import to_plain
from actors.shared.config.url_passwords import without_passwords
from actors.shared.config.version import OWN_VERSION, git_version
from supervision.errors import error_reason
from supervision.resource_limits import file_size, most_open_files

from . import lock_file, open_files, preflight, state_directories
from .kernel_tunables import set_all
from .selinux_labels import label_plugin_directories


def prepare_host(
    agent: Agent,
    host: preflight.PreflightHost | None = None,
    say: Callable[[str], None] = lambda text: None,
    more: Iterable[ConfigProblem] = (),
    made: Iterable[str] = (),
) -> list[str]:
    """Run the steps in order; return the warnings, the agent's own first. Raises ConfigErrors.

    `more`: further problems. `made`: directories of cgroups that this start will make later, for its record.
    """
    host = host or preflight.look_at_host(agent)
    problems = [*preflight.problems(agent, host), *more]
    if problems:
        raise ConfigErrors(problems)
    if agent.flags.get("lock-file"):
        # this process and its children hold it until they end
        lock_file.acquire(agent.flags["lock-file"], say=say)
    state_directories.make(agent, made)
    labels = label_plugin_directories(agent)
    tunables = [] if agent.config.protectKernelDefaults or not agent.flags["set-kernel-tunables"] else [*set_all()]
    return [*agent.warnings, *preflight.warnings(agent, host), *set_limits(agent), *labels, *tunables]


def set_limits(agent: Agent) -> Iterator[str]:
    """Set RLIMIT_NOFILE and oom_score_adj of this process and its future children; return a warning for each
    failure. Raises ConfigErrors where no agent can run with what is granted."""
    wanted = agent.config.maxOpenFiles
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        # keep a higher hard limit: without CAP_SYS_RESOURCE it cannot be raised again
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
    except (OSError, ValueError) as error:
        yield f"maxOpenFiles: {wanted} open files are not granted, only {hard}: {error_reason(error)}"
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    granted = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if granted < open_files.LEAST:
        rule = (
            f"{granted} open files are granted, at least {open_files.LEAST} are needed: raise LimitNOFILE or ulimit -n"
        )
        raise ConfigErrors([ConfigProblem("maxOpenFiles", str(wanted), rule)])
    if too_few := open_files.shortage(agent, max(granted, most_open_files(open_files.OF_ANY_RUNTIME))):
        yield f"maxOpenFiles: {too_few}"
    if (size := file_size()) is not None:
        yield f"files of more than {size} bytes cannot be written (RLIMIT_FSIZE), also by pods of a managed runtime"
    score = agent.config.oomScoreAdj
    try:
        Path("/proc/self/oom_score_adj").write_text(str(score))
    except OSError as error:
        yield f"oomScoreAdj: {score} is not granted: {error.strerror}"


def first_log_lines(agent: Agent) -> Iterator[tuple[int, str]]:
    """(verbosity, line) of each: version, flags, configuration; secrets are masked."""
    yield 0, f"Troupelet {OWN_VERSION}, a Kubernetes node agent, kubelet version {git_version()}"
    for name, text in sorted(agent.flags_given.items()):
        yield 1, f"flag --{name}={shown(text)}"
    plain = to_plain(agent.config)
    if "staticPodURLHeader" in plain:
        plain["staticPodURLHeader"] = dict.fromkeys(plain["staticPodURLHeader"], MASKED)
    for name, value in plain.items():
        yield 5, f"configuration {name}: {_json_text(value)}"


def _json_text(value: object) -> str:
    import msgspec

    return without_passwords(msgspec.json.encode(value).decode())
