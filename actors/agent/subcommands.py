"""The subcommands of `supervise` that do not become the agent. Each imports only what it needs, so that those for a
running agent are fast and work while actors hang."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, TextIO

from .engine_settings import agent_files, engine_settings

_COMMANDS = {
    "actors.agent.doctor.arguments": ("doctor",),
    "actors.agent.observe.command": ("observe",),
    "actors.agent.inspection.commands": ("pods", "describe", "events"),
    "actors.agent.reset.arguments": ("reset",),
}
"""Modules with a function `register`, and the commands that it adds. Only the module of the given command is
imported."""
_HELP = ("-h", "--help")
_ALONE = (*_HELP, "--version")
"""Options that need no command."""


def run(words: list[str]) -> int:
    """Run one subcommand; the exit code."""
    from .guessed_words import misspelt, of_another_kind, of_another_program, understood

    if words and (wrong := of_another_kind(words)):
        return _refuse(f"supervise: {wrong}")
    words = understood(words) if words else words
    if words and (wrong := of_another_program(words)):
        return _refuse(f"supervise {words[0]}: {wrong}\n  see `supervise {words[0]} --help`")
    if words[:1] == ["run-once"]:
        from actors.agent.run_once import run as run_once

        return run_once(words[1:])
    if words[:1] == ["config"]:
        return _run_config(words[1:])
    if words[:1] == ["--version"]:
        from actors.shared.config.version import OWN_VERSION, git_version

        sys.stdout.write(f"troupelet {OWN_VERSION}, a node agent for Kubernetes {git_version()}\n")
        return 0
    parser, commands = parser_of(words)
    if not words:
        parser.print_help()
        return 0
    if words[0] not in (*commands, *_ALONE):
        return _refuse(f"supervise: {misspelt(words, [*commands], _ALONE)}")
    arguments = parser.parse_args(words)
    return int(arguments.execute(arguments))


def _refuse(text: str) -> int:
    from supervision.cli.command import USAGE
    from supervision.cli.text import for_terminal

    sys.stderr.write(f"{for_terminal(text, sys.stderr)}\n")
    return USAGE


def _run_config(words: list[str]) -> int:
    """`config`, which reads its words itself."""
    from actors.config_controller.commands import MORE
    from actors.shared.config.commands import run, take_form
    from supervision.cli.command import CommandError
    from supervision.cli.document import error_text
    from supervision.cli.text import for_terminal
    from supervision.cli.typed_commands import as_typed

    try:
        return run(words, more={**MORE, "check": _check, "show": _show, "explain": _explain})
    except CommandError as error:
        if form := take_form(words)[0]:
            sys.stdout.write(f"{error_text(str(error), error.code, form)}\n")
        else:
            sys.stderr.write(f"{for_terminal(f'supervise: {as_typed(str(error))}', sys.stderr)}\n")
        return error.code


def _check(words: Sequence[str], form: str, out: TextIO) -> int:
    """`config check`, with the checks that the configuration package cannot make; without flags, those of a running
    agent apply."""
    from actors.agent.running_flags import as_started
    from actors.agent.validation import validate
    from actors.shared.config.commands import check

    with as_started(words, agent_files, sys.stderr) as started:
        return check(started.flags, form, out, validate)


def _show(words: Sequence[str], form: str, out: TextIO) -> int:
    """`config show`; without flags the configuration that is in force in a running agent."""
    from actors.agent import config_in_force
    from actors.agent.running_flags import as_started
    from actors.shared.config.commands import show
    from actors.shared.config.flags.parsing import positional

    fields, flags = positional(words)
    with as_started(flags, agent_files, sys.stderr) as started:
        if started.context is not None and started.flagz is not None:
            return config_in_force.show(fields, started.flags, started.context, started.flagz, form, out)
        return show([*fields, *started.flags], form, out)


def _explain(words: Sequence[str], form: str, out: TextIO) -> int:
    """`config explain`, with the effect of a change on a running agent."""
    from actors.config_controller.consumers import effect_of
    from actors.shared.config.commands import explain
    from actors.tree import RELATIONS

    return explain(words, form, out, lambda field: effect_of(field, RELATIONS.consumers, RELATIONS.optional))


def whole_parser(with_flags: Collection[str]) -> argparse.ArgumentParser:
    """The parser of all commands, each with its options. `with_flags`: as for `parser_of`."""
    return parser_of([], with_flags)[0]


def parser_of(words: list[str], with_flags: Collection[str] = ()) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser and the names of all commands; a parser that is costly to load is complete only if `words` names its
    command.

    `with_flags`: commands whose parsers get the flags of the start, and the words of `config`, to be read by others.
    """
    from actors.shared.config.paths import DEFAULT_ROOT_DIR
    from supervision.cli.parser import CommandHelp, CommandParser
    from supervision.cli.subcommands import register

    parser = CommandParser(
        prog="supervise",
        description="Troupelet: a Kubernetes node agent as a supervised tree of actors.",
        epilog="`supervise COMMAND --help` shows options, examples and exit codes.\n"
        "`supervise doctor` says what is wrong with a node.\n"
        "--root-dir DIR, or TROUPELET_ROOT_DIR, names another agent than that of\n"
        "/var/lib/kubelet.",
        formatter_class=CommandHelp,
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    accepting = {
        "start": "run the node agent (takes the kubelet's flags)",
        "run-once": "start the pods of files and URLs, print the result, end",
        "config": "validate, show, explain, roll back configurations",
    }
    for name, text in accepting.items():
        _with_flags(subcommands.add_parser(name, help=text, add_help=False), name, with_flags)
    settings = engine_settings("" if words else DEFAULT_ROOT_DIR)  # pages and scripts are not for this shell alone
    register(subcommands, settings)
    if not words or words[0] == "logs":
        from actors.agent.pod_logs import extend

        extend(subcommands.choices["logs"], settings)
    for module, names in _COMMANDS.items():
        if not words or words[0] in (*names, *_HELP):
            import_module(module).register(subcommands, settings)
    _register_standalone(subcommands, words)
    more = (name for names in _COMMANDS.values() for name in names)
    return parser, [*subcommands.choices, *more, "manifest", "demo", "completion", "man"]


def _register_standalone(subcommands: Any, words: list[str]) -> None:
    """Add the commands that ask no agent. Each is imported only if `words` names it, or nothing."""
    if not words or words[0] in ("manifest", *_HELP):
        from actors.agent.manifest_check import register as register_manifest

        register_manifest(subcommands)
    if not words or words[0] in ("demo", *_HELP):
        from actors.agent.demo.command import register as register_demo
        from actors.shared.config.paths import ROOT_DIR_VARIABLE

        named = os.environ.get(ROOT_DIR_VARIABLE, "") if words else ""  # pages are not for this shell alone
        register_demo(subcommands, named)
    if not words or words[0] in ("completion", *_HELP):
        from actors.agent.completion import WITH_FLAGS
        from actors.agent.completion import register as register_completion

        register_completion(subcommands, lambda: whole_parser(WITH_FLAGS))
    if not words or words[0] in ("man", *_HELP):
        from actors.agent.manual import WITH_FLAGS as WITH_FLAGS_SHOWN
        from actors.agent.manual import register as register_manual

        register_manual(subcommands, lambda: whole_parser(WITH_FLAGS_SHOWN))


def _with_flags(parser: argparse.ArgumentParser, name: str, with_flags: Collection[str]) -> None:
    """Tell the parser of a command that reads its words itself what these may be."""
    from supervision.cli.parser import CommandHelp

    if name == "config" and with_flags:
        from actors.config_controller.commands import MORE
        from actors.shared.config.commands import ABOUT, COMMANDS

        parser.formatter_class, parser.description = CommandHelp, ABOUT
        parser.add_argument("what", choices=[*COMMANDS, *MORE])
    if name == "run-once" and with_flags:
        from actors.agent.run_once import ABOUT as ABOUT_RUN_ONCE

        parser.formatter_class, parser.description = CommandHelp, ABOUT_RUN_ONCE
    if name == "start" and with_flags:
        from actors.shared.config.flags.usage import ending

        parser.formatter_class, parser.epilog = CommandHelp, ending()
    if name in with_flags:
        from actors.shared.config.flags.arguments import add_flags

        add_flags(parser)
