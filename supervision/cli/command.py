"""The common part of all subcommands: finding the agent, asking it, showing results and errors."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from .. import time_scale
from ..client import Client
from ..documents.suggestions import close_to, hint_of
from ..errors import AskError, NotRunning, OtherVersion
from ..hanging_disks import require_answer
from ..message import Message
from ..messaging.names import PeerRefused
from ..process_stat import is_alive, is_stopped
from ..protocol import FORK_SERVER, GetTree, Tree
from ..spec import ChildSpec
from .agent_files import AgentFiles, neighbours
from .document import document_text, error_text, form_of
from .text import for_terminal, plain
from .typed_commands import DEFAULT_ROOT_DIR, as_root, as_typed

R = TypeVar("R", bound=Message)

OK, NOT_WELL, USAGE, NOT_RUNNING, REFUSED, NO_ANSWER = range(6)
_MOST_LIKE = 3
TreeOf = Callable[[], tuple[ChildSpec, Collection[str]]]
"""Returns the application's tree, and the names that other configurations add to it."""


class CommandError(Exception):
    """A subcommand fails: the cause, with what to do about it, and the exit code."""

    def __init__(self, code: int, cause: str, remedy: str = "", joint: str = ": ") -> None:
        """`remedy`: a command, '' for none; `joint`: what stands between cause and remedy in the text of the error."""
        super().__init__(f"{cause}{joint}`{remedy}`" if remedy else cause)
        self.code, self.cause, self.remedy = code, cause, remedy


class OtherVersionError(CommandError):
    """The agent runs another version than this command, which cannot read its answer."""


class Context:
    """A call of a subcommand."""

    def __init__(self, arguments: argparse.Namespace, files_of: Callable[[argparse.Namespace], AgentFiles]) -> None:
        self.arguments = arguments
        self.files = files_of(arguments)
        self.form = form_of(arguments.output)
        """The form of the document that the user asked for; '' for text."""

    def ask(self, question: Message, reply: type[R], name: str = FORK_SERVER, timeout: float = 0.0) -> R:
        """Ask the fork server, or an actor. `timeout`: seconds; 0: the value of --timeout. Raises CommandError."""
        run_dir, timeout = self.files.run_dir, timeout or self.arguments.timeout
        try:
            client = Client(run_dir)
        except AskError:
            raise self.not_running() from None
        except (PeerRefused, PermissionError):
            raise self.denied(f"the agent on {run_dir} runs as another user") from None
        try:
            return client.ask(question, reply, name=name, timeout=timeout)
        except AskError as error:
            raise self._no_answer(name, error) from None
        except PeerRefused as error:
            raise CommandError(REFUSED, f"the process that listens on {run_dir} is not trusted: {error}") from None
        finally:
            client.close()

    def _no_answer(self, name: str, error: AskError) -> CommandError:
        if isinstance(error, OtherVersion):
            joint = "; restart the agent, pods keep running: "
            return OtherVersionError(NO_ANSWER, str(error), self.restart_command(), joint)
        if name != FORK_SERVER:
            return CommandError(NO_ANSWER, str(error), "supervise tree", "; see ")
        pid = self.fork_server_pid()
        if not pid:
            return self.not_running()
        if isinstance(error, NotRunning):
            text = f"the agent, pid {pid}, cannot be asked yet: it is starting"
            return CommandError(NO_ANSWER, text, f"supervise status{self._place()}", "; try again in a few seconds: ")
        if is_stopped(pid):
            return CommandError(NO_ANSWER, f"the fork server, pid {pid}, is stopped by a signal", f"kill -CONT {pid}")
        return CommandError(NO_ANSWER, f"the fork server does not answer: {error}")

    def tree(self, *, memory: bool = False) -> Tree:
        """Raises CommandError. Afterwards this process has the deadlines of the agent's machine.

        `memory`: with the memory of each process, which the fork server needs a millisecond each to read."""
        tree = self.ask(GetTree(memory=memory), Tree)
        time_scale.use(tree.time_scale)
        return tree

    def not_running(self) -> CommandError:
        run_dir_of_root = self.files.run_dir_of_root
        if run_dir_of_root not in (None, self.files.run_dir) and os.path.isdir(str(run_dir_of_root)):
            return self.denied(f"the agent on {run_dir_of_root} is root's")
        text = f"no agent is running on {self.files.run_dir}"
        if refused := self.files.refused_start():
            text += f", and its last start was refused, {refused.ago()}: see `supervise doctor{self._place()}`"
        else:
            text += f": start one with `supervise start {self.start_words()}`"
        if others := [self._option(path, tree) for path, tree in neighbours(self.files.run_dir)]:
            text += f"; elsewhere {'one runs' if len(others) == 1 else 'others run'}: {', '.join(others)}"
        return CommandError(NOT_RUNNING, text)

    def _place(self) -> str:
        """The option that names the agent, where one is needed."""
        root_dir, run_dir = self.arguments.root_dir, self.arguments.run_dir
        named = ("--run-dir", run_dir) if run_dir else ("--root-dir", root_dir)
        return "" if named[1] == DEFAULT_ROOT_DIR else f" {shlex.join(named)}"

    def restart_command(self) -> str:
        """What restarts the running agent: its service, or a stop and a start with the flags of the last one."""
        if unit := self.files.unit(self.fork_server_pid()):
            return f"systemctl restart {unit}"
        return f"supervise stop{self._place()} && supervise start {self.start_words()}"

    def start_words(self) -> str:
        """The flags of `supervise start` for this agent: those of its last start if they are known."""
        arguments, last = self.arguments, self.files.last_start()
        if arguments.run_dir:
            return shlex.join(("--run-dir", arguments.run_dir))
        place = ("--root-dir", arguments.root_dir)
        if last is None or not last.flags:
            return shlex.join(place)
        named = arguments.root_dir == DEFAULT_ROOT_DIR or any(flag.startswith("--root-dir=") for flag in last.flags)
        return shlex.join([*last.flags, *(() if named else place)])

    def _option(self, run_dir: Path, tree: Tree) -> str:
        """The option that finds the agent that has answered there."""
        below = os.path.relpath(self.files.incident_file, self.arguments.root_dir)
        root_dir = tree.incident_file.removesuffix(f"/{below}")
        option = ("--root-dir", root_dir) if root_dir != tree.incident_file else ("--run-dir", str(run_dir))
        return shlex.join(option)

    def as_root(self) -> str:
        """This command as root would type it."""
        return as_root(self.arguments.root_dir)

    def denied(self, cause: str) -> CommandError:
        """The error for a user who is not root, with this command as root would type it."""
        return CommandError(REFUSED, f"permission denied: {cause}", self.as_root(), "; try ")

    def fork_server_pid(self) -> int:
        """The pid in the lock file if such a process lives, else 0."""
        path = self.files.lock or self.files.run_dir / "lock"
        try:
            require_answer(path)
            text = path.read_text()
            pid = int(text.partition("\n")[0])
        except (OSError, ValueError):
            return 0
        return pid if is_alive(pid) else 0

    def full_name(self, name: str, tree: Tree) -> str:
        """The actor's full name in the tree. Its end is enough if no other name has the same end (`worker/0`,
        `node_server`).

        Raises CommandError when there is no such actor, or more than one.
        """
        names = [actor.name for actor in tree.actors]
        if name in names:
            return name
        found = [full for full in names if full.endswith(f"/{name}")]
        if len(found) == 1:
            return found[0]
        if found:
            raise CommandError(REFUSED, f"{name} may be {' or '.join(found)}")
        raise CommandError(REFUSED, f"there is no actor {name}{like(name, names)}")

    def show(self, data: Any, text: str) -> None:
        """Print a document if the user asked for one, else the text."""
        print(document_text(data, self.form) if self.form else plain(as_typed(text)))  # noqa: T201 - it is what the command is for


def like(name: str, names: Collection[str], listed_by: str = "tree") -> str:
    """A hint: actors with a similar name or ending; without one, the command that lists the names."""
    ends = {full.rpartition("/")[2]: full for full in names}
    below = [full for full in names if f"/{name.split('/', maxsplit=1)[0]}/" in f"/{full}/" and full != name]
    near = below or [ends.get(one, one) for one in close_to(name, [*names, *ends])]
    return hint_of(near[:_MOST_LIKE]) or f": see `supervise {listed_by}`"


Run = Callable[[Context], int]


def execute(run: Run, arguments: argparse.Namespace, files_of: Callable[[argparse.Namespace], AgentFiles]) -> int:
    """Run a subcommand; its exit code."""
    try:
        return run(Context(arguments, files_of))
    except CommandError as error:
        if form := form_of(arguments.output):
            print(error_text(str(error), error.code, form))  # noqa: T201
        else:
            print(for_terminal(f"supervise: {plain(as_typed(str(error)))}", sys.stderr), file=sys.stderr)  # noqa: T201
        return error.code
    except KeyboardInterrupt:
        return 130
