"""`supervise completion bash|zsh|fish`: the completion script of a shell, made from the parser of all commands.

The scripts are written by shtab. They ask `supervise completion actors` (`pods`, `names`) for names, so that these are
those of the agent that the half-typed command is about.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from actors.shared.config.paths import default_root_dir, run_dir_of
from supervision.cli.command import OK, REFUSED
from supervision.cli.parser import LOCAL_CODES, CommandHelp, epilog
from supervision.names import published
from supervision.protocol import FORK_SERVER

SHELLS: Final = ("bash", "zsh", "fish")
WITH_FLAGS: Final = ("start", "run-once", "config")
"""Commands that take the flags of the start."""
ANSWER_SECONDS: Final = 1.0
"""Somebody waits with a half-typed line."""
_KINDS: Final = ("actors", "pods", "names")
"""What the scripts ask for; `names`: actors and pods, for `logs`."""


def _function(kind: str) -> dict[str, Any]:
    """How each shell gets the names of one kind."""
    name, ask = f"_supervise_{kind}", f"completion {kind} --"
    return {
        "bash": name,
        "zsh": name,
        "fish": f"({name})",
        "preamble": {
            "bash": f"""\
{name}() {{
  compgen -W "$("${{COMP_WORDS[0]}}" {ask} "${{COMP_WORDS[@]:1}}" 2>/dev/null)" -- "$1"
}}""",
            "fish": f"""\
function {name}
    set -l typed (commandline -opc)
    $typed[1] {ask} $typed[2..] 2>/dev/null
end""",
        },
    }


_FUNCTIONS: Final = {kind: _function(kind) for kind in _KINDS}
_ZSH_PREAMBLE: Final = "\n".join(
    f"""\
_supervise_{kind}() {{
  local -a names
  names=(${{(f)"$(supervise completion {kind} -- "${{(@Q)words}}" 2>/dev/null)"}})
  (( $#names )) && compadd -a names
}}"""
    for kind in _KINDS
)
"""When zsh calls them, `words` start with the subcommand."""
_OF_POD: Final = ("pods name", "pod name", "events pod", "events of")
"""Arguments with the name of a pod: the last word of their command, and what argparse calls them."""
_NO_SHTAB: Final = "supervise: shtab makes the scripts and is not installed: pip install 'troupelet[completion]'\n"
_OF_METAVAR: Final = {"DIR": "directory", "FILE": "file"}


def register(subcommands: Any, whole_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add `completion` to the subcommands of `supervise`; the parsed arguments have `execute`."""
    parser: argparse.ArgumentParser = subcommands.add_parser(
        "completion",
        help="the completion script of bash, zsh or fish, on stdout",
        description="Print the completion script of a shell, to be read by it or put where it looks\n"
        "for such scripts. Names of actors and pods are completed, too, while an agent\n"
        "runs, and fields of the configuration.",
        epilog=epilog(
            (
                "source <(supervise completion bash)",
                "supervise completion zsh > ~/.zfunc/_supervise",
            ),
            {**LOCAL_CODES, REFUSED: "shtab, which makes the scripts, is not installed"},
        ),
        formatter_class=CommandHelp,
    )
    parser.add_argument(
        "what",
        metavar="SHELL",
        choices=_AcceptedShells(SHELLS),
        help="bash, zsh or fish",
    )
    words = parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    words.required = False  # or the error for a missing SHELL names it

    def execute(arguments: argparse.Namespace) -> int:
        if arguments.what in _KINDS:
            names = actors(arguments.words) if arguments.what != "pods" else []
            names += pods(arguments.words) if arguments.what != "actors" else []
            sys.stdout.write("".join(f"{name}\n" for name in names))
            return OK
        return _print_script(arguments.what, whole_parser())

    parser.set_defaults(execute=execute)


class _AcceptedShells(tuple[str, ...]):
    """The shells, which are listed; what their scripts ask for is accepted, too."""

    __slots__ = ()

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or word in _KINDS


def actors(words: Sequence[str]) -> list[str]:
    """The actors in service of the agent that the words of a half-typed command are about; empty without one."""
    return [name for name in published(_run_dir(words)) if name != FORK_SERVER]


def pods(words: Sequence[str]) -> list[str]:
    """The pods of that agent, as its commands take their names; empty if it does not answer."""
    from contextlib import closing

    from actors.status_manager.messages import STATUS_MANAGER, GetPods, Pods, every_page
    from supervision.client import Client
    from supervision.errors import AskError
    from supervision.names import PeerRefused

    try:
        with closing(Client(Path(_run_dir(words)))) as client:
            pages = every_page(
                lambda after: client.ask(GetPods(after), Pods, name=STATUS_MANAGER, timeout=ANSWER_SECONDS)
            )
    except (AskError, PeerRefused, OSError):
        return []
    return pod_names([page.data for page in pages])


class _PodName(msgspec.Struct):
    name: str
    namespace: str = ""


class _NamedPod(msgspec.Struct):
    metadata: _PodName


class _NamedPods(msgspec.Struct):
    """What is read of a PodList."""

    items: list[_NamedPod]


def pod_names(lists: Sequence[bytes]) -> list[str]:
    """The names of PodLists, with the namespaces of those that are not alone with their name. Pure."""
    found = [
        (pod.metadata.namespace, pod.metadata.name)
        for data in lists
        for pod in msgspec.json.decode(data, type=_NamedPods).items
    ]
    counts = Counter(name for _, name in found)
    return sorted(name if counts[name] == 1 else f"{space}/{name}" for space, name in found)


def _run_dir(words: Sequence[str]) -> str:
    """The run directory of the agent that the words are about; '' if they are not whole."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--root-dir", default=default_root_dir())
    parser.add_argument("--run-dir", default="")
    try:
        known, _ = parser.parse_known_args([word for word in words if word != "--"])
    except argparse.ArgumentError:
        return ""
    return str(known.run_dir or run_dir_of(known.root_dir))


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """What the shell reads. Raises ModuleNotFoundError without shtab."""
    import shtab

    action: argparse.Action
    _name_fields(parser)
    for command, action in arguments_of(parser):
        if action.dest == "fault":
            action.help = "a fault"  # each shell shows it beside each of them
        if action.dest == "actor":
            action.complete = _FUNCTIONS["names" if command == "logs" else "actors"]  # type: ignore[attr-defined]
        elif f"{command} {action.dest}" in _OF_POD:
            action.complete = _FUNCTIONS["pods"]  # type: ignore[attr-defined]
        elif kind := _OF_METAVAR.get(str(action.metavar)) or _OF_METAVAR.get(action.dest.upper()):
            action.complete = getattr(shtab, kind.upper())  # type: ignore[attr-defined]
    return shtab.complete(parser, shell, preamble=_ZSH_PREAMBLE if shell == "zsh" else "") + "\n"


def _print_script(shell: str, parser: argparse.ArgumentParser) -> int:
    try:
        text = script(shell, parser)
    except ModuleNotFoundError:
        sys.stderr.write(_NO_SHTAB)
        return REFUSED
    sys.stdout.write(text)
    return OK


def _name_fields(parser: argparse.ArgumentParser) -> None:
    """Let `config` take the fields that can be shown and explained, and give each command the text of the list of
    commands, which is short."""
    from actors.shared.config.documentation import entries

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {one.dest: one.help for one in action._choices_actions}
            for name, below in action.choices.items():
                below.description = texts.get(name) or below.description
            fields = [entry.path for entry in entries() if "[" not in entry.path]
            action.choices["config"].add_argument("fields", nargs="*", choices=fields, help="a field")


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """(last word of the command, argument) for the parser and those below it, except the choice of a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from arguments_of(below)
        else:
            yield parser.prog.rpartition(" ")[2], action
