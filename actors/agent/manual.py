"""`supervise man DIR`: the manual pages, made from the parser of all commands: one of `supervise`, one of each command.

Only the macros of man(7) are used. argparse-manpage is not: its pages lose the line breaks of exit codes and usage
texts, and take a line that begins with a dot for a request.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

from actors.shared.config.version import OWN_VERSION
from supervision.cli.command import OK, REFUSED, USAGE
from supervision.cli.parser import LOCAL_CODES, CommandHelp, epilog
from supervision.cli.text import folded

SECTION: Final = 8
_NO_DIRECTORY: Final = (
    "supervise man: {0} is a command, and no directory: its page is that of `man supervise-{0}`, or of "
    "`supervise help {0}`\n"
)
_COLUMNS: Final = 72
"""The room for a line whose breaks are kept: 80 less the indent of the page."""
WITH_FLAGS: Final = ("start",)
"""Commands whose pages list the flags of the start."""


def register(subcommands: Any, whole_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add `man` to the subcommands of `supervise`; the parsed arguments have `execute`."""
    parser: argparse.ArgumentParser = subcommands.add_parser(
        "man",
        help="write the manual pages into a directory",
        description="Write the manual pages into a directory.",
        epilog=epilog(
            ("supervise man /usr/local/share/man/man8", "man supervise-status"),
            {**LOCAL_CODES, REFUSED: "the directory cannot be written"},
        ),
        formatter_class=CommandHelp,
    )
    parser.add_argument("directory", metavar="DIR", help="such as /usr/local/share/man/man8; made if it is missing")

    def execute(arguments: argparse.Namespace) -> int:
        folder = Path(arguments.directory)
        try:
            written = pages(whole_parser())
            if f"supervise-{folder}" in written and not folder.is_dir():
                sys.stderr.write(_NO_DIRECTORY.format(folder))
                return USAGE
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in written.items():
                (folder / f"{name}.{SECTION}").write_text(text)
        except OSError as error:
            sys.stderr.write(f"supervise: {folder} cannot be written: {error.strerror}\n")
            return REFUSED
        sys.stdout.write(f"{len(written)} manual pages in {folder}\n")
        return OK

    parser.set_defaults(execute=execute)


def pages(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The text of each page by its name without the section, such as `supervise-status`. Pure."""
    about = parser.description or parser.prog
    found = {parser.prog: "\n".join([*_head(parser.prog, about), *_body(parser)]) + "\n"}
    for choice in _commands(parser):
        texts = {one.dest: one.help or "" for one in choice._choices_actions}
        for command, below in choice.choices.items():
            name = f"{parser.prog}-{command}"
            see = [".SH SEE ALSO", f".BR {escaped(parser.prog)} ({SECTION})"]
            if command not in WITH_FLAGS:
                see += [f".BR {escaped(f'{parser.prog}-start')} ({SECTION})"]
            found[name] = "\n".join([*_head(name, texts[command]), *_body(below), *see]) + "\n"
    return found


def escaped(text: str) -> str:
    """Text escaped for roff, in ASCII, so that no part of it is a request."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    plain = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in plain)
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in plain.split("\n"))


def _head(name: str, about: str) -> list[str]:
    title = f'.TH "{escaped(name.upper())}" {SECTION} "" "Troupelet {OWN_VERSION}" "Troupelet"'
    return [title, ".ad l", ".SH NAME", f"{escaped(name)} \\- {escaped(' '.join(about.split()))}"]


def _body(parser: argparse.ArgumentParser) -> list[str]:
    lines = [".SH SYNOPSIS", *_usage(parser)]
    if parser.description:
        lines += [".SH DESCRIPTION", *_prose(parser, parser.description % {"prog": parser.prog})]
    lines += _arguments(parser, ".SH")
    for choice in _commands(parser):
        for below in choice.choices.values() if parser.prog.count(" ") else ():
            lines += [f".SH {escaped(below.prog.upper())}", *_usage(below)]
            lines += _arguments(below, ".SS")
            lines += _epilog_sections(below, ".SS")
    return lines + _epilog_sections(parser, ".SH")


def _epilog_sections(parser: argparse.ArgumentParser, heading: str) -> list[str]:
    notes, _, rest = (parser.epilog or "").partition("Examples:\n\n")
    examples, _, codes = rest.partition("Exit codes:\n\n")
    texts = {"NOTES": notes, "EXAMPLES": examples, "EXIT STATUS": codes}
    return [
        line
        for title, text in texts.items()
        if text.strip()
        for line in (f"{heading} {title}", *_prose(parser, text.strip("\n")))
    ]


def _arguments(parser: argparse.ArgumentParser, heading: str) -> list[str]:
    formatter = parser._get_formatter()
    lines: list[str] = []
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        if not shown:
            continue
        lines.append(f"{heading} {escaped((group.title or '').upper())}")
        for action in shown:
            if isinstance(action, argparse._SubParsersAction):
                lines += [line for one in action._choices_actions for line in _entry(one.dest, one.help or "")]
            else:
                about = formatter._expand_help(action) if action.help else ""
                lines += _entry(formatter._format_action_invocation(action), about)
    return lines


def _entry(term: str, about: str) -> list[str]:
    return [".TP", f"\\fB{escaped(term)}\\fR", escaped(" ".join(about.split())) or "\\&"]


def _usage(parser: argparse.ArgumentParser) -> list[str]:
    """The synopsis, in lines that fit the page, whatever the terminal of the maker."""
    formatter = cast(type[argparse.HelpFormatter], parser.formatter_class)(prog=parser.prog, width=_COLUMNS)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return _raw(formatter.format_help())


def _prose(parser: argparse.ArgumentParser, text: str) -> list[str]:
    """A text; its line breaks are kept if the parser's own help keeps them."""
    if isinstance(parser._get_formatter(), argparse.RawDescriptionHelpFormatter):
        return _raw(folded(text, _COLUMNS))
    return [escaped(" ".join(text.split()))] if text else []


def _raw(text: str) -> list[str]:
    return [".nf", escaped(text.rstrip()), ".fi"] if text else []


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse._SubParsersAction[argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield action
