"""The common part of all subcommands: finding the agent, asking it, showing results and errors."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .. import time_scale
from ..client import Client
from ..documents.suggestions import close_to
from ..errors import AskError, NotRunning
from ..message import Message
from ..messaging.names import PeerRefused
from ..process_stat import is_alive
from ..protocol import FORK_SERVER, GetTree, Tree
from ..spec import ChildSpec
from .document import document_text, error_text, form_of
from .signals import is_stopped
from .text import duration, plain

R = TypeVar("R", bound=Message)

OK, NOT_WELL, USAGE, NOT_RUNNING, REFUSED, NO_ANSWER = range(6)
DEFAULT_ROOT_DIR = "/var/lib/kubelet"
_MOST_NEIGHBOURS = 32
_NEIGHBOUR_SECONDS = 0.5
_MOST_LIKE = 3
_MINUTE = 60
_COMMAND = re.compile(r"(?<=`)supervise(?= )")
TreeOf = Callable[[], tuple[ChildSpec, Collection[str]]]
"""Returns the application's tree, and the names that other configurations add to it."""


class LastStart(NamedTuple):
    """How an agent that does not run was started last."""

    flags: Sequence[str]
    directory: str
    """Where they were given; '' if it is not known."""
    log_file: str
    """'' if its log was in no file."""


class RefusedStart(NamedTuple):
    """The last start, which was refused."""

    at: float
    """Seconds since 1970."""
    problems: Sequence[str]

    def ago(self) -> str:
        """How long ago; `0s ago` if the clock was set back since."""
        seconds = max(0, int(time.time() - self.at))
        return f"{duration(seconds) if seconds >= _MINUTE else f'{seconds}s'} ago"


class AgentFiles(NamedTuple):
    """The files of one agent."""

    run_dir: Path
    incident_file: Path
    """The incident file, for when the agent does not run."""
    lock: Path | None = None
    """The agent's lock file; None: in run_dir."""
    run_dir_of_root: Path | None = None
    """The run directory that root's agent would have; None: not known."""
    last_start: Callable[[], LastStart | None] = lambda: None
    """How it was started last; None: not known."""
    refused_start: Callable[[], RefusedStart | None] = lambda: None
    """None: its last start was not refused."""


class CommandError(Exception):
    """A subcommand fails: the cause, with what to do about it, and the exit code."""

    def __init__(self, code: int, cause: str, remedy: str = "", joint: str = ": ") -> None:
        """`remedy`: a command, '' for none; `joint`: what stands between cause and remedy in the text of the error."""
        super().__init__(f"{cause}{joint}`{remedy}`" if remedy else cause)
        self.code, self.cause, self.remedy = code, cause, remedy


def neighbours(run_dir: Path) -> Iterator[tuple[Path, Tree]]:
    """The run directories beside this one, with the same kind of name, whose agents answer."""
    kind = run_dir.name.partition("-")[0]
    for path in sorted(run_dir.parent.glob(f"{kind}*"))[:_MOST_NEIGHBOURS]:
        if path != run_dir and (tree := _tree_of(path)) is not None:
            yield path, tree


def _tree_of(run_dir: Path) -> Tree | None:
    try:
        client = Client(run_dir)
    except (AskError, OSError, PeerRefused):
        return None
    try:
        return client.ask(GetTree(memory=False), Tree, timeout=_NEIGHBOUR_SECONDS)
    except (AskError, OSError, PeerRefused):
        return None
    finally:
        client.close()


def default_files(arguments: argparse.Namespace) -> AgentFiles:
    """All files below the root directory."""
    state = Path(arguments.root_dir) / "supervision"
    return AgentFiles(Path(arguments.run_dir or state), state / "incidents.jsonl")


class Context:
    """A call of a subcommand."""

    def __init__(self, arguments: argparse.Namespace, where: Callable[[argparse.Namespace], AgentFiles]) -> None:
        self.arguments = arguments
        self.where = where(arguments)
        self.form = form_of(arguments.output)
        """The form of the document that the user asked for; '' for text."""

    def ask(self, question: Message, reply: type[R], name: str = FORK_SERVER, timeout: float = 0.0) -> R:
        """Ask the fork server, or an actor. `timeout`: seconds; 0: the value of --timeout. Raises CommandError."""
        run_dir, timeout = self.where.run_dir, timeout or self.arguments.timeout
        try:
            client = Client(run_dir)
        except AskError:
            raise self.not_running() from None
        except (PeerRefused, PermissionError):
            raise self.denied(f"the agent on {run_dir} runs as another user") from None
        try:
            return client.ask(question, reply, name=name, timeout=timeout)
        except AskError as error:
            if name == FORK_SERVER and not self.fork_server_pid():
                raise self.not_running() from None
            if name == FORK_SERVER and isinstance(error, NotRunning):
                text = f"the agent, pid {self.fork_server_pid()}, cannot be asked yet: it is starting"
                raise CommandError(
                    NO_ANSWER, text, f"supervise status{self._place()}", "; try again in a few seconds: "
                ) from None
            if name == FORK_SERVER:
                raise self._silence(error) from None
            raise CommandError(NO_ANSWER, f"{error}; see `supervise tree`") from None
        except PeerRefused as error:
            raise CommandError(REFUSED, f"the process that listens on {run_dir} is not trusted: {error}") from None
        finally:
            client.close()

    def _silence(self, error: AskError) -> CommandError:
        pid = self.fork_server_pid()
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
        run_dir_of_root = self.where.run_dir_of_root
        if run_dir_of_root not in (None, self.where.run_dir) and os.path.isdir(str(run_dir_of_root)):
            return self.denied(f"the agent on {run_dir_of_root} is root's")
        text = f"no agent is running on {self.where.run_dir}"
        if refused := self.where.refused_start():
            text += f", and its last start was refused, {refused.ago()}: see `supervise doctor{self._place()}`"
        else:
            text += f": start one with `supervise start {self.start_words()}`"
        if others := [self._option(path, tree) for path, tree in neighbours(self.where.run_dir)]:
            text += f"; elsewhere {'one runs' if len(others) == 1 else 'others run'}: {', '.join(others)}"
        return CommandError(NOT_RUNNING, text)

    def _place(self) -> str:
        """The option that names the agent, where one is needed."""
        root_dir, run_dir = self.arguments.root_dir, self.arguments.run_dir
        named = ("--run-dir", run_dir) if run_dir else ("--root-dir", root_dir)
        return "" if named[1] == DEFAULT_ROOT_DIR else f" {shlex.join(named)}"

    def start_words(self) -> str:
        """The flags of `supervise start` for this agent: those of its last start if they are known."""
        arguments, last = self.arguments, self.where.last_start()
        if arguments.run_dir:
            return shlex.join(("--run-dir", arguments.run_dir))
        place = ("--root-dir", arguments.root_dir)
        if last is None or not last.flags:
            return shlex.join(place)
        named = arguments.root_dir == DEFAULT_ROOT_DIR or any(flag.startswith("--root-dir=") for flag in last.flags)
        return shlex.join([*last.flags, *(() if named else place)])

    def _option(self, run_dir: Path, tree: Tree) -> str:
        """The option that finds the agent that has answered there."""
        below = os.path.relpath(self.where.incident_file, self.arguments.root_dir)
        root_dir = tree.incident_file.removesuffix(f"/{below}")
        option = ("--root-dir", root_dir) if root_dir != tree.incident_file else ("--run-dir", str(run_dir))
        return shlex.join(option)

    def as_root(self) -> str:
        """This command as root would type it, between backticks."""
        return as_root(self.arguments.root_dir)

    def denied(self, cause: str) -> CommandError:
        """The error for a user who is not root, with this command as root would type it."""
        return CommandError(REFUSED, f"permission denied: {cause}", self.as_root().strip("`"), "; try ")

    def fork_server_pid(self) -> int:
        """The pid in the lock file if such a process lives, else 0."""
        try:
            text = (self.where.lock or self.where.run_dir / "lock").read_text()
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


def program() -> str:
    """How to call `supervise` again: `supervise` if the shell finds it, else its path."""
    path = sys.argv[0]
    if os.path.basename(path) != "supervise":
        return "supervise"
    found = shutil.which("supervise")
    same = found is not None and os.path.exists(path) and os.path.samefile(found, path)
    return "supervise" if same else shlex.quote(path)


def program_of_root() -> str:
    """How to call `supervise` after `sudo`, which has its own PATH."""
    path = sys.argv[0]
    known = path.endswith(".py") or os.path.dirname(path) in ("", "/usr/bin", "/usr/local/bin")
    return "supervise" if known else shlex.quote(path)


def as_root(root_dir: str) -> str:
    """The command of this process as root would type it, for the agent in `root_dir`; sudo keeps no variable and has a
    PATH of its own."""
    words = sys.argv[1:]
    named = any(word.startswith(("--root-dir", "--run-dir")) for word in words)
    place = [] if named or root_dir == DEFAULT_ROOT_DIR else ["--root-dir", root_dir]
    return f"`sudo {program_of_root()} {shlex.join([*words, *place])}`"


def as_typed(text: str) -> str:
    """The text, with `supervise` in its commands (between backticks) replaced by the full command line."""
    typed = program()
    return text if typed == "supervise" else _COMMAND.sub(lambda _: typed, text)


def like(name: str, names: Collection[str], listed_by: str = "tree") -> str:
    """A hint: actors with a similar name or ending; without one, the command that lists the names."""
    ends = {full.rpartition("/")[2]: full for full in names}
    below = [full for full in names if f"/{name.split('/', maxsplit=1)[0]}/" in f"/{full}/" and full != name]
    near = below or [ends.get(one, one) for one in close_to(name, [*names, *ends])]
    return f", did you mean {' or '.join(near[:_MOST_LIKE])}?" if near else f": see `supervise {listed_by}`"


Run = Callable[[Context], int]


def execute(run: Run, arguments: argparse.Namespace, where: Callable[[argparse.Namespace], AgentFiles]) -> int:
    """Run a subcommand; its exit code."""
    try:
        return run(Context(arguments, where))
    except CommandError as error:
        if form := form_of(arguments.output):
            print(error_text(str(error), error.code, form))  # noqa: T201
        else:
            print(f"supervise: {plain(as_typed(str(error)))}", file=sys.stderr)  # noqa: T201
        return error.code
    except KeyboardInterrupt:
        return 130
