"""One subcommand: what it is, and how it gets a parser with the options that all subcommands have."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .agent_files import AgentFiles, default_files
from .argument_types import directory, last_lines, positive
from .command import USAGE, CommandError, Context, Run, TreeOf, execute
from .document import FORMS
from .parser import CODES, CommandHelp, epilog
from .typed_commands import DEFAULT_ROOT_DIR

if TYPE_CHECKING:
    from .status import Others

_ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class CommandSettings:
    """The application's input to the subcommands."""

    files_of: Callable[[argparse.Namespace], AgentFiles] = default_files
    tree_of: TreeOf | None = None
    """None: there is no `policy check`."""
    root_dir: str = DEFAULT_ROOT_DIR
    """Used when --root-dir is not given."""
    policy_file: str = "etc/supervision.yaml"
    """The file to check by default."""
    others: Others | None = None
    """The reasons that the application adds to `status`."""
    advice: Callable[[argparse.Namespace], str] = lambda arguments: ""
    """The last line of a `status` that is not ready: the command with more details."""
    logs: str = "the log of one actor, or of a supervisor and all below it"
    """What `logs` shows, for its --help."""
    lines: Callable[[str], int | str] = last_lines
    """The type of the value of `logs -n`, for argparse; the application may accept more than a count."""


class Subcommand(NamedTuple):
    """A subcommand, apart from its own options."""

    name: str
    run: Run
    text: str
    """What it shows or does, for the list of commands and for its --help."""
    examples: Sequence[str]
    """Command lines for its --help."""
    outputs: Sequence[str] = ("text", *FORMS)
    """The values of -o, the default first."""
    codes: Mapping[int, str] = CODES
    """Its exit codes."""
    asks: bool = True
    """It asks an agent. If not, it accepts the options for that, and does not show them."""


def add_subcommand(subcommands: Any, settings: CommandSettings, subcommand: Subcommand) -> argparse.ArgumentParser:
    """Its parser, with the common options; the caller adds its own. `subcommands`: the result of add_subparsers."""
    parser: argparse.ArgumentParser = subcommands.add_parser(
        subcommand.name,
        help=subcommand.text,
        description=f"{subcommand.text[0].upper()}{subcommand.text[1:]}.",
        epilog=epilog(subcommand.examples, subcommand.codes),
        formatter_class=CommandHelp,
    )

    def shown(text: str) -> str:
        return text if subcommand.asks else argparse.SUPPRESS

    parser.add_argument(
        "--root-dir",
        type=directory,
        default=settings.root_dir,
        metavar="DIR",
        help=shown("the agent's root directory (default: %(default)s)"),
    )
    parser.add_argument(
        "--run-dir",
        default="",
        metavar="DIR",
        help=shown("the directory of the agent's sockets (default: found by --root-dir)"),
    )
    outputs = subcommand.outputs
    parser.add_argument("-o", "--output", choices=outputs, default=outputs[0], help="(default: %(default)s)")
    parser.add_argument(
        "--timeout",
        type=positive,
        default=_ANSWER_SECONDS,
        metavar="S",
        help=shown("seconds to wait for an answer (default: 5)"),
    )
    parser.set_defaults(execute=lambda arguments: execute(subcommand.run, arguments, settings.files_of))
    return parser


def refuse_word(context: Context, command: str) -> None:
    """Raises CommandError if what a command takes as `flags` of the start begins with a word that is none."""
    flags: Sequence[str] = context.arguments.flags
    if flags and not flags[0].startswith("-"):
        raise CommandError(USAGE, f"{command} takes no {flags[0]}; options come first, and flags of start after --")
