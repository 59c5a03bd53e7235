"""`supervise completion bash|zsh|fish`: the completion script of a shell, made from the parser of all commands.

The scripts are written by shtab. They ask `supervise completion actors` for names, so that these are those of the agent
that the half-typed command is about.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from actors.shared.config.paths import default_root_dir, run_dir_of
from supervision.cli.command import OK, REFUSED
from supervision.cli.parser import LOCAL_CODES, epilog
from supervision.names import published
from supervision.protocol import FORK_SERVER

SHELLS: Final = ("bash", "zsh", "fish")
WITH_FLAGS: Final = ("start", "run-once", "config")
"""Commands that take the flags of the start."""
_ASK: Final = "completion actors --"
_ACTORS: Final[dict[str, Any]] = {
    "bash": "_supervise_actors",
    "zsh": "_supervise_actors",
    "fish": "(_supervise_actors)",
    "preamble": {
        "bash": f"""\
_supervise_actors() {{
  compgen -W "$("${{COMP_WORDS[0]}}" {_ASK} "${{COMP_WORDS[@]:1}}" 2>/dev/null)" -- "$1"
}}""",
        "fish": f"""\
function _supervise_actors
    set -l typed (commandline -opc)
    $typed[1] {_ASK} $typed[2..] 2>/dev/null
end""",
    },
}
_ZSH_PREAMBLE: Final = f"""\
_supervise_actors() {{
  local -a names
  names=(${{(f)"$(supervise {_ASK} "${{(@Q)words}}" 2>/dev/null)"}})
  (( $#names )) && compadd -a names
}}"""
"""When zsh calls it, `words` start with the subcommand."""
_NO_SHTAB: Final = "supervise: shtab makes the scripts and is not installed: pip install 'troupelet[completion]'\n"
_OF_METAVAR: Final = {"DIR": "directory", "FILE": "file"}


def register(subcommands: Any, whole_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add `completion` to the subcommands of `supervise`; the parsed arguments have `execute`."""
    parser: argparse.ArgumentParser = subcommands.add_parser(
        "completion",
        help="the completion script of bash, zsh or fish, on stdout",
        description="Print the completion script of a shell, to be read by it or put where it looks for such scripts.\n"
        "Names of actors are completed, too, while an agent runs.",
        epilog=epilog(
            (
                "source <(supervise completion bash)",
                "supervise completion zsh > ~/.zfunc/_supervise",
            ),
            {**LOCAL_CODES, REFUSED: "shtab, which makes the scripts, is not installed"},
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what",
        metavar="SHELL",
        choices=(*SHELLS, "actors"),
        help="bash, zsh or fish; `actors`: names, asked for by its script",
    )
    words = parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    words.required = False  # or the error for a missing SHELL names it

    def execute(arguments: argparse.Namespace) -> int:
        if arguments.what == "actors":
            names = actors(arguments.words)
            sys.stdout.write("".join(f"{name}\n" for name in names))
            return OK
        return _print_script(arguments.what, whole_parser())

    parser.set_defaults(execute=execute)


def actors(words: Sequence[str]) -> list[str]:
    """The actors in service of the agent that the words of a half-typed command are about; empty without one."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--root-dir", default=default_root_dir())
    parser.add_argument("--run-dir", default="")
    try:
        known, _ = parser.parse_known_args([word for word in words if word != "--"])
    except argparse.ArgumentError:
        return []
    found = published(known.run_dir or run_dir_of(known.root_dir))
    return [name for name in found if name != FORK_SERVER]


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """What the shell reads. Raises ModuleNotFoundError without shtab."""
    import shtab

    action: argparse.Action
    for action in arguments_of(parser):
        if action.dest == "actor":
            action.complete = _ACTORS  # type: ignore[attr-defined]
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


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of the parser and of those below it, except the choice of a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from arguments_of(below)
        else:
            yield action
