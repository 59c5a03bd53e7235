"""The parser of `supervise` and of each subcommand: errors in two lines: the mistake, and its correction,
and the end of a `--help`: examples, exit codes."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..documents.suggestions import did_you_mean
from .command import NO_ANSWER, NOT_RUNNING, OK, REFUSED, USAGE
from .text import folded, for_terminal

CODES: Final[Mapping[int, str]] = {
    OK: "done",
    USAGE: "the command line is wrong",
    NOT_RUNNING: "no agent runs there",
    REFUSED: "the agent is another user's",
    NO_ANSWER: "the agent did not answer in time",
}
"""The exit codes of a subcommand that asks an agent."""
LOCAL_CODES: Final[Mapping[int, str]] = {OK: "done", USAGE: "the command line is wrong"}
"""The exit codes of a subcommand that needs no agent."""


_NEGATIVE: Final = re.compile(r"-\d")
"""A word that begins so is a value, such as -5s, and not an option: then the error says what is wrong with it."""


_MISSING: Final = "the following arguments are required: "
"""How argparse begins its error that arguments are missing; their names follow."""


class CommandHelp(argparse.RawDescriptionHelpFormatter):
    """Descriptions keep their lines; those that the terminal has no room for are folded."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return super()._fill_text(folded(text, width), width, indent)


class CommandParser(argparse.ArgumentParser):
    """Parsers of subcommands are of this class, too."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._negative_number_matcher = _NEGATIVE

    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ").replace("expected one argument", "it needs a value")
        if message.startswith(_MISSING):
            names = message.removeprefix(_MISSING).split(", ")
            text = "; ".join(_missing_text(name, self._actions) for name in names)
        told = for_terminal(f"{self.prog}: {text}", sys.stderr)
        self.exit(USAGE, f"{told}\n  see `{self.prog} --help`\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Also raises OSError if stdout cannot be written; argparse ignores that."""
        if file is sys.stdout and message:
            file.write(message)
            file.flush()
        else:
            super()._print_message(message, file)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # subcommands report theirs
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            if _takes_flags_of_start(self._actions) and (unknown := _options(rest)[0]).startswith("--"):
                typed = shlex.join(args[args.index(unknown) :])
                name = unknown.partition("=")[0]
                self.error(f"there is no option {name}; flags of start follow --: `{self.prog} -- {typed}`")
            self.error("; ".join(_unknown_option_text(word, self._option_string_actions) for word in _options(rest)))
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            form = re.match(r"(jsonpath|go-template|custom-columns)(-as-json|-file)?(=|$)", str(value))
            hint = ": -o json, and jq, do what that does" if form else did_you_mean(str(value), known)
            raise argparse.ArgumentError(action, f"{value} is none of {', '.join(known)}{hint}")


def _missing_text(name: str, actions: Iterable[argparse.Action]) -> str:
    """`name`: as argparse shows an argument. Its values are listed where it has a choice of them."""
    for action in actions:
        if name in (action.metavar, action.dest) and action.choices and not name.startswith(tuple(action.choices)):
            return f"{name} is missing: {', '.join(map(str, action.choices))}"
    return f"{name} is missing"


def _takes_flags_of_start(actions: Iterable[argparse.Action]) -> bool:
    return any(action.dest == "flags" and action.nargs == argparse.REMAINDER for action in actions)


def _options(words: Sequence[str]) -> Sequence[str]:
    """The unknown words that are not the value of another word."""
    return [word for word in words if word.startswith("-")] or words


def _unknown_option_text(word: str, options: Iterable[str]) -> str:
    name = word.partition("=")[0]
    if not name.startswith("-"):
        return f"{word}: one argument too many"
    return f"there is no option {name}{did_you_mean(name, options)}"


def epilog(examples: Iterable[str], codes: Mapping[int, str]) -> str:
    """The end of a `--help`. `examples`: whole command lines, `  # why` behind them."""
    shown = "\n".join(f"    {line}" for line in examples)
    listed = "\n".join(f"    {code}  {text}" for code, text in sorted(codes.items()))
    return f"Examples:\n\n{shown}\n\nExit codes:\n\n{listed}"
