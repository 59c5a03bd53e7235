"""The directories, endpoints and cgroup root of each start, and the flags of the last one, in a file: without the agent
`supervise reset` finds what it left, also after a change of its configuration, and `doctor` how it is started."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.errors import MASKED
from actors.shared.linux import kernel_files
from supervision.errors import error_reason
from supervision.state_file import DamagedError, StateFile, decode_versioned, read_private

FILE: Final = "places.json"
_LOG: Final = logging.getLogger(__name__)
_KEPT: Final = 16
"""The distinct earlier starts, the newest last."""


class StartCommand(msgspec.Struct, frozen=True):
    """The command line of a start."""

    flags: tuple[str, ...]
    """As they were given, paths from the root, without those that are secret."""
    directory: str
    """Where they were given: other relative paths among them start there."""
    log_file: str
    """The file of --log-file, else the one that took its stderr; '' for neither."""


class StartRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The directories and endpoints of one start. Paths are absolute and clean."""

    root_dir: str
    run_dir: str
    runtime_endpoint: str
    """`unix:///...`; with a managed runtime the endpoint of the agent's containerd."""
    managed_root: str = ""
    """Directory of the managed containerd; '' with another runtime."""
    managed_state: str = ""
    cgroup_root: str = "/"
    pod_logs_dir: str
    container_logs_dir: str
    cert_dir: str
    made: tuple[str, ...] = ()
    """Directories that this start created."""
    made_cgroups: tuple[str, ...] = ()
    """Cgroup directories that this start created, in the boot with the ID `boot`. Cgroups do not survive a boot, so
    after another one a cgroup with such a name belongs to another program."""
    boot: str = ""
    handed_over: bool = False
    """The pods belong to another agent since `supervise reset --keep-pods`, until the next start."""
    command: StartCommand | None = None
    """That of the last start; earlier starts, and those of older versions, have none."""


def record_of(
    agent: Agent, made: Iterable[str] = (), made_cgroups: Iterable[str] = (), boot: str = "", directory: str = "",
    stderr: str = "",
) -> StartRecord:  # fmt: skip
    """The record of a start with this configuration. `stderr`: the file that takes it. Pure."""
    managed = agent.managed_runtime
    return StartRecord(
        root_dir=agent.root_dir,
        run_dir=agent.run_dir,
        runtime_endpoint=agent.runtime_endpoint,
        managed_root=agent.managed_runtime_dir if managed else "",
        managed_state=agent.managed_state_dir if managed else "",
        cgroup_root=agent.cgroup_root,
        pod_logs_dir=agent.pod_logs_dir,
        container_logs_dir=agent.container_logs_dir,
        cert_dir=agent.cert_dir,
        made=tuple(made),
        made_cgroups=tuple(made_cgroups),
        boot=boot,
        command=StartCommand(
            tuple(flags_as_given(agent.flags_given, agent.flags)),
            directory,
            agent.log_file or stderr,
        ),
    )


def flags_as_given(written: Mapping[str, str], values: Mapping[str, object]) -> Iterator[str]:
    """The given flags, paths from the root, without the secret ones. `values`: what each flag stands for. Pure."""
    for name, given in written.items():
        value = values.get(name)
        if given != MASKED:
            yield f"--{name}={value if isinstance(value, str) and value.endswith(f'/{given}') else given}"


def with_start(known: list[StartRecord], now: StartRecord) -> list[StartRecord]:
    """The known records with this start's, each once, the newest last. Directories that an earlier start created stay
    recorded."""
    made = {path for one in (*known, now) for path in one.made}
    cgroups = {path for one in (*known, now) if one.boot == now.boot for path in one.made_cgroups}
    bare = [_without_making(one) for one in known]
    current = _without_making(now)
    others = [one for one in dict.fromkeys(bare) if one != current]
    last = msgspec.structs.replace(
        now, made=tuple(sorted(made)), made_cgroups=tuple(sorted(cgroups)), handed_over=False
    )
    return [*others[1 - _KEPT :], last]


def _without_making(record: StartRecord) -> StartRecord:
    return msgspec.structs.replace(record, made=(), made_cgroups=(), boot="", handed_over=False, command=None)


def hand_over(state_dir: str) -> None:
    """Record that the pods belong to another agent now. Raises OSError, DamagedError."""
    if known := read_all(state_dir):
        _file(state_dir).save([*known[:-1], msgspec.structs.replace(known[-1], handed_over=True)])


def note(agent: Agent, made: Iterable[str], made_cgroups: Iterable[str] = ()) -> None:
    """Record this start. `made`, `made_cgroups`: directories that it created. Raises OSError."""
    file = _file(agent.state_dir)
    try:
        known = file.load() or []
    except DamagedError as error:
        _LOG.warning("%s; what starts with other directories have left, `supervise reset` does not know", error)
        known = []
    new = with_start(known, record_of(agent, made, made_cgroups, kernel_files.boot_id(), os.getcwd(), _stderr_file()))
    if new != known:
        file.save(new)


def _stderr_file() -> str:
    """The regular file that takes the stderr of this process; '' for a terminal, a pipe or the journal."""
    link = "/proc/self/fd/2"
    try:
        return os.readlink(link) if os.path.isfile(link) else ""
    except OSError:
        return ""


def last_of(state_dir: str) -> StartRecord | None:
    """The record of the last start; None if there was none, or it cannot be read. A damaged file stays where it is:
    that it is damaged, `reset` must find."""
    try:
        known = decode_versioned(read_private(Path(state_dir, FILE)), list[StartRecord], 1)
    except (OSError, DamagedError):
        return None
    return known[-1] if known else None


def problem(state_dir: str) -> str:
    """Why the records cannot be read, '' if they can. The file stays where it is."""
    path = Path(state_dir, FILE)
    try:
        decode_versioned(read_private(path), list[StartRecord], 1)
    except FileNotFoundError:
        return ""
    except (OSError, DamagedError) as error:
        return f"{path} {'is damaged' if isinstance(error, ValueError) else 'cannot be read'}: {error_reason(error)}"
    return ""


def read_all(state_dir: str) -> list[StartRecord]:
    """The records of all starts, the newest last; none if there was no start. A damaged file stays where it is: `logs`
    and `reset --dry-run` change nothing. Raises OSError, DamagedError."""
    if not os.path.isdir(state_dir):
        return []
    return _file(state_dir).read() or []


def _file(state_dir: str) -> StateFile[list[StartRecord]]:
    return StateFile(Path(state_dir, FILE), list[StartRecord])
