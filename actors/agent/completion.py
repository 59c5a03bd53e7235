"""`supervise completion bash|zsh|fish`: the completion script of a shell, made from the parser of all commands.

The scripts are written by shtab. They ask `supervise completion actors` (`pods`, `names`, `hashes`) for names, so that
these are those of the agent that the half-typed command is about: `completed_names`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from supervision.cli.command import OK, REFUSED
from supervision.cli.document import FORMS
from supervision.cli.parser import LOCAL_CODES, CommandHelp, epilog

from .completed_names import KINDS

SHELLS: Final = ("bash", "zsh", "fish")
WITH_FLAGS: Final = ("start", "run-once", "config")
"""Commands that take the flags of the start."""


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
  compgen -W "$("${{COMP_WORDS[0]}}" {ask} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)" -- "$1"
}}""",
            "fish": f"""\
function {name}
    set -l typed (commandline -opc) (commandline -ct)
    $typed[1] {ask} $typed[2..] 2>/dev/null
end""",
        },
    }


_FUNCTIONS: Final = {kind: _function(kind) for kind in KINDS}
_ZSH_PREAMBLE: Final = "\n".join(
    f"""\
_supervise_{kind}() {{
  local -a names
  names=(${{(f)"$(supervise completion {kind} -- "${{(@Q)words[1,CURRENT]}}" 2>/dev/null)"}})
  (( $#names )) && compadd -a names
}}"""
    for kind in KINDS
)
"""When zsh calls them, `words` start with the subcommand."""
_OF_POD: Final = ("pods name", "pod name", "events pod", "events of")
"""Arguments with the name of a pod: the last word of their command, and what argparse calls them."""
_NO_SHTAB: Final = "supervise: shtab makes the scripts and is not installed: pip install 'troupelet[completion]'\n"
_OF_METAVAR: Final = {"DIR": "directory", "FILE": "file"}
_OF_FLAG: Final = (("-dir", "directory"), ("-file", "file"), ("-path", "file"), ("config", "file"), ("-conf", "file"))
"""Ends of flags of the start whose value is a path; `--policy` is one, too."""
_ZSH_VALUED: Final = re.compile(r"^(  .*?--[a-z0-9-]+)((?:\}\")?\[.*\]:)", re.MULTILINE)
"""An option with a value: `=` after its name lets that follow it."""
_ZSH_SOURCED: Final = ("[[ $zsh_eval_context[-1] == eval ]]", "[[ $zsh_eval_context[-1] != loadautofunc ]]")
"""What shtab takes for a script that is sourced, and what is one: `source` is no `eval`."""
_FISH_VALUE: Final = "(string replace -r -- '^--[^=]*=' '' (commandline -ct))"
_EQUALS: Final = """\

# bash makes three words of --option=value, and shtab looks for the value after the option
_supervise() {
  local -a words=()
  local at cursor=$COMP_CWORD
  for at in "${!COMP_WORDS[@]}"; do
    if [[ ${COMP_WORDS[at]} != = ]]; then
      words+=("${COMP_WORDS[at]}")
    elif [[ $at == "$COMP_CWORD" ]]; then
      words+=("")
    elif ((at < COMP_CWORD)); then
      cursor=$((cursor - 1))
    fi
  done
  COMP_WORDS=("${words[@]}") COMP_CWORD=$cursor
  _shtab_supervise
}
complete -o filenames -F _supervise supervise
"""


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
        if arguments.what in KINDS:
            names = KINDS[arguments.what](arguments.words)
            sys.stdout.write("".join(f"{name}\n" for name in names))
            return OK
        return _print_script(arguments.what, whole_parser())

    parser.set_defaults(execute=execute)


class _AcceptedShells(tuple[str, ...]):
    """The shells, which are listed; what their scripts ask for is accepted, too."""

    __slots__ = ()

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or word in KINDS


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """What the shell reads. Raises ModuleNotFoundError without shtab."""
    import shtab

    action: argparse.Action
    _complete(parser)
    for command, action in arguments_of(parser):
        if action.dest == "fault":
            action.help = "a fault"  # each shell shows it beside each of them
        if action.dest == "actor":
            action.complete = _FUNCTIONS["names" if command == "logs" else "actors"]  # type: ignore[attr-defined]
        elif action.dest == "hash":
            action.complete = _FUNCTIONS["hashes"]  # type: ignore[attr-defined]
        elif f"{command} {action.dest}" in _OF_POD:
            action.complete = _FUNCTIONS["pods"]  # type: ignore[attr-defined]
        elif kind := _path_kind(action):
            action.complete = getattr(shtab, kind.upper())  # type: ignore[attr-defined]
    text = str(shtab.complete(parser, shell, preamble=_ZSH_PREAMBLE if shell == "zsh" else ""))
    return _with_equals(text, shell)


def _with_equals(text: str, shell: str) -> str:
    """The script that completes also the value of --option=VALUE, which those of shtab do not."""
    if shell == "bash":
        return text + _EQUALS
    if shell == "zsh":
        return _ZSH_VALUED.sub(r"\1=\2", text).replace(*_ZSH_SOURCED) + "\n"
    return text.replace("(commandline -ct)", _FISH_VALUE) + "\n"


def _path_kind(action: argparse.Action) -> str:
    """Whether the value is a `file` or a `directory`; '' if it is no path."""
    if kind := _OF_METAVAR.get(str(action.metavar)) or _OF_METAVAR.get(action.dest.upper()):
        return kind
    flag = (action.option_strings or [""])[-1]
    if action.nargs == 0 or flag == "--policy":
        return "file" if flag == "--policy" else ""
    return next((kind for end, kind in _OF_FLAG if flag.endswith(end)), "")


def _print_script(shell: str, parser: argparse.ArgumentParser) -> int:
    try:
        text = script(shell, parser)
    except ModuleNotFoundError:
        sys.stderr.write(_NO_SHTAB)
        return REFUSED
    sys.stdout.write(text)
    return OK


def _complete(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what commands accept that read their words themselves, and give each command the text of the
    list of commands, which is short."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {one.dest: one.help for one in action._choices_actions}
            for name, below in action.choices.items():
                below.description = texts.get(name) or below.description
            action.choices["config"] = _config_parser(str(action.choices["config"].description))
            once = action.choices["run-once"]
            once.add_argument("--timeout", metavar="SECONDS", help="how long the pods have to start (default: 300)")
            _add_output(once)


def _config_parser(description: str) -> argparse.ArgumentParser:
    """What each command of `config` takes: flags of the start, fields, gates, hashes."""
    from actors.shared.config.documentation import entries
    from actors.shared.config.feature_gates import GATES
    from actors.shared.config.flags.arguments import add_flags

    parser = argparse.ArgumentParser(prog="supervise config", description=description)
    below = parser.add_subparsers()
    fields = [entry.path for entry in entries() if "[" not in entry.path]
    taken = {
        "check": ("whether flags and files are valid", []),
        "show": ("effective values, each with its source", fields),
        "explain": ("what a field, flag or gate means", [*fields, *GATES]),
    }
    for name, (text, words) in taken.items():
        one = below.add_parser(name, help=text, description=text, add_help=False)
        if words:
            one.add_argument("fields", nargs="*", choices=words, help="a field")
        add_flags(one)
        _add_output(one)
    history = below.add_parser("history", help="which configurations were in force")
    _add_output(history)
    rollback = below.add_parser("rollback", help="go back to one of them")
    rollback.add_argument("hash", nargs="?", help="one of the history")
    for one in (history, rollback):
        one.add_argument("--root-dir", metavar="DIR", help="the agent's root directory")
    return parser


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=("text", *FORMS), help="the form of the output")


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """(last word of the command, argument) for the parser and those below it, except the choice of a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from arguments_of(below)
        else:
            yield parser.prog.rpartition(" ")[2], action
