"""Runs `supervise reset`: refuses, lists, asks, removes, looks again."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from actors.agent.other_kubelets import kubelet_on, kubelets
from actors.shared.config.agent import MANAGED
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.flags import parsing
from actors.shared.config.loading import load
from actors.shared.config.paths import managed_state_dir, run_dir_of, state_dir_of
from actors.shared.config.start import start_records
from actors.shared.config.start.start_records import StartRecord
from actors.shared.linux import kernel_files
from actors.shared.linux.path_owners import foreign_part
from supervision.cli.command import NOT_WELL, OK, REFUSED, USAGE, CommandError, Context
from supervision.cli.document import document_text
from supervision.cli.streams import finishing
from supervision.cli.text import plain
from supervision.fork_server.lock import AlreadyRunning, Lock, holder_of
from supervision.state_file import DamagedError

from . import runtime_pods
from .cgroups import kept_for_others
from .host_resources import KINDS, HostResources, look
from .removal import remove
from .runtime_pods import RuntimePod
from .scope import Scope

_SHOWN: Final = 8
"""The most lines of each kind, unless --all is given."""


def run(context: Context) -> int:
    """The exit code. 0: nothing is left, or there was nothing; 1: something is left."""
    arguments = context.arguments
    root_dir = os.path.abspath(arguments.root_dir)
    try:
        _refuse_other_users(root_dir, context)
        _refuse_running(root_dir, [state_dir_of(root_dir), run_dir_of(root_dir)])
        known = _start_records(root_dir, [word for word in arguments.flags if word != "--"])
        if not known:
            context.show({"found": {}, "stays": [], "removed": False}, f"there is nothing of an agent in {root_dir}")
            return OK
        if known[-1].handed_over:
            text = f"the pods in {root_dir} are another agent's, by `supervise reset --keep-pods`"
            context.show({"found": {}, "stays": [text], "removed": False}, f"there is nothing of an agent: {text}")
            return OK
        scope = Scope(starts=known, keep_pods=arguments.keep_pods, boot=kernel_files.boot_id())
        if scope.keep_pods and scope.instances:
            raise CommandError(
                REFUSED, "--keep-pods: the pods run in the agent's own containerd, which nobody takes over"
            )
        return _reset(context, scope)
    except PermissionError as error:
        raise CommandError(REFUSED, _permission_text(error.filename, context)) from None
    except OSError as error:
        if error.filename is None:  # of the output
            raise
        raise CommandError(REFUSED, f"{error.filename}: {error.strerror}") from None


def _reset(context: Context, scope: Scope) -> int:
    arguments = context.arguments
    pods, silent = runtime_pods.find(scope.endpoints, scope.uids())
    before = look(scope, pods)
    if not context.form:
        print(plain("\n".join(listed(scope.root_dir, before, everything=arguments.all))))  # noqa: T201
    if silent and not arguments.without_runtime and not arguments.dry_run:
        advice = "start the runtime, so that no pods stay in it, or give --without-runtime"
        raise CommandError(REFUSED, f"{'; '.join(silent)}: {advice}")
    for line in silent:
        print(f"supervise: {plain(line)}", file=sys.stderr)  # noqa: T201
    if not before and scope.keep_pods and not arguments.dry_run:
        start_records.hand_over(scope.state_dir)
    if arguments.dry_run or not before:
        if context.form:
            print(_document(context, before, removed=False, errors=silent))  # noqa: T201
        return OK
    if not arguments.yes:
        _ask(scope.root_dir, context)
    with finishing():
        return _remove(context, scope, before, pods)


def _remove(context: Context, scope: Scope, before: HostResources, pods: Sequence[RuntimePod]) -> int:
    with ExitStack() as locks:
        for directory in (scope.state_dir, scope.starts[-1].run_dir):
            if os.path.isdir(directory):
                try:
                    locks.callback(Lock(Path(directory)).release)
                except AlreadyRunning as error:
                    raise CommandError(REFUSED, f"{error}: stop it first") from None
        alone = not [*kubelets()]
        wrong = remove(scope, pods, alone=alone)
        kept = [] if alone else kept_for_others(scope)
        if scope.keep_pods and not wrong:
            start_records.hand_over(scope.state_dir)
    return _result(context, scope, before, wrong, kept)


def _result(
    context: Context, scope: Scope, before: HostResources, wrong: Sequence[str], kept: Sequence[str] = ()
) -> int:
    """`kept`: cgroups that stay for another agent."""
    pods, _ = runtime_pods.find(scope.endpoints, scope.uids())
    left = with_kept(look(scope, pods), kept)
    if context.form:
        document = {"left": left.found, "stays": left.stays, "errors": list(wrong)}
        print(_document(context, before, removed=not left, **document))  # noqa: T201
    for line in wrong:
        print(f"supervise: {plain(line)}", file=sys.stderr)  # noqa: T201
    if left:
        lines = listed(scope.root_dir, left, everything=True)
        print(plain("\n".join(["supervise: this is left:", *lines[1:]])), file=sys.stderr)  # noqa: T201
        return NOT_WELL
    if not context.form:
        print("\n".join(done(left)))  # noqa: T201
    return NOT_WELL if wrong else OK


def _document(context: Context, before: HostResources, **more: object) -> str:
    return document_text({"found": before.found, "stays": before.stays, **more}, context.form)


def with_kept(left: HostResources, kept: Sequence[str]) -> HostResources:
    """With the cgroups that stay for another agent, unless what is in them is already named. Pure."""
    named = [one for one in kept if not any(f"cgroup {one}" in text for text in left.stays)]
    text = "empty, and maybe another node agent's too"
    return HostResources(left.found, [*left.stays, *(f"cgroup {one}, {text}" for one in named)])


def done(left: HostResources) -> list[str]:
    """The lines to show when nothing of the agent is left. Pure."""
    if not left.stays:
        return ["nothing is left"]
    shown = [f"  {one}" for one in _some(left.stays, everything=False)]
    return ["nothing of the agent is left; what is not its own stays:", *shown]


def listed(root_dir: str, resources: HostResources, *, everything: bool) -> list[str]:
    """The lines to show. Pure."""
    if not resources:
        lines = [f"there is nothing of an agent in {root_dir}"]
    else:
        lines = [f"of the agent in {root_dir} there are"]
    for kind in KINDS:
        found = resources.found.get(kind, [])
        lines += [f"  {kind if not number else '':<11} {one}" for number, one in enumerate(_some(found, everything))]
    if resources.stays:
        lines += [
            f"  {'' if number else 'not its own':<11} {one} (stays)"
            for number, one in enumerate(_some(resources.stays, everything))
        ]
    return lines


def _some(found: Sequence[str], everything: bool) -> list[str]:
    if everything or len(found) <= _SHOWN:
        return list(found)
    return [*found[: _SHOWN - 1], f"... {len(found) - _SHOWN + 1} more (--all)"]


def _ask(root_dir: str, context: Context) -> None:
    """Raises CommandError unless the answer is yes."""
    if context.form or not sys.stdin.isatty():
        raise CommandError(REFUSED, "there is no terminal to ask on: --yes removes all of this without a question")
    try:
        answer = input(f"Remove all of this from {root_dir}? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError(REFUSED, "nothing was removed")


def _start_records(root_dir: str, flags: Sequence[str]) -> list[StartRecord]:
    """The records of all starts with this root directory. Raises CommandError, OSError."""
    state_dir = state_dir_of(root_dir)
    try:
        known = start_records.read_all(state_dir)
    except DamagedError as error:
        raise CommandError(REFUSED, f"{error}; give the flags of start after --") from None
    known = [one for one in known if one.root_dir == root_dir]  # the record in a copied directory is about the original
    if known and not flags:
        return known
    managed_state = managed_state_dir(run_dir_of(root_dir))
    if not any(map(os.path.isdir, (state_dir, run_dir_of(root_dir), managed_state))):
        return []
    # without a record only that directory, which no other agent has, tells of a containerd of the agent's own
    managed = [f"--container-runtime-endpoint={MANAGED}"] if os.path.isdir(managed_state) else []
    try:
        agent = load([f"--root-dir={root_dir}", *managed, *flags], recover=False)
    except ConfigErrors as error:
        code = USAGE if parsing.parse(flags).problems else REFUSED
        raise CommandError(code, "; ".join(str(problem) for problem in error.problems)) from None
    return [*known, start_records.record_of(agent)]


def _refuse_other_users(root_dir: str, context: Context) -> None:
    """Raises CommandError if the agent's files are another user's, or may be."""
    for directory in (state_dir_of(root_dir), run_dir_of(root_dir, uid=0)):
        try:
            owner = os.stat(directory).st_uid
        except FileNotFoundError:
            continue
        if os.geteuid() not in (0, owner):
            raise CommandError(REFUSED, _permission_text(directory, context))
    # its records name what is removed
    if os.path.isdir(state_dir_of(root_dir)) and (
        reason := foreign_part(f"{state_dir_of(root_dir)}/{start_records.FILE}")
    ):
        raise CommandError(REFUSED, f"{reason}: another user may have written what is to be removed")


def _refuse_running(root_dir: str, directories: Sequence[str]) -> None:
    """Raises CommandError while an agent, or a kubelet, uses the directory."""
    for directory in directories:
        if holder := holder_of(Path(directory)):
            stop = f"supervise stop --root-dir {shlex.quote(root_dir)}"
            raise CommandError(REFUSED, f"an agent with pid {holder} runs on {root_dir}: `{stop}` first")
    if pid := kubelet_on(root_dir):
        text = f"a kubelet with pid {pid} runs on {root_dir}: the pods are its own now (see --keep-pods)"
        raise CommandError(REFUSED, text)


def _permission_text(path: object, context: Context) -> str:
    return f"permission denied: {path} is another user's; try `{context.as_root()}`"
