"""The options of `supervise pods`, `supervise describe pod NAME` and `supervise events`.

They ask the status manager. If it does not answer, they ask the PLEG and show only the runtime's state; `pods` asks the
runtime itself if no agent answers, and ends with the exit code that says so. They have the exit codes of every
subcommand.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from actors.shared.kube.node_selector import Requirement
from supervision.cli.command import REFUSED
from supervision.cli.document import FORMS, WIDE
from supervision.cli.parser import CODES, CommandHelp, epilog
from supervision.cli.subcommand import CommandSettings, Subcommand, add_subcommand

from . import label_selector
from .describe_command import describe
from .events_command import events
from .pods_command import pods

_OUTPUTS: Final = ("text", WIDE, *FORMS)
_CODES: Final = {**CODES, REFUSED: "no such pod; the agent is another user's"}


def register(subcommands: Any, settings: CommandSettings) -> None:
    """Add the three subcommands."""
    _pods(subcommands, settings)
    _describe(subcommands, settings)
    _events(subcommands, settings)


def _pods(subcommands: Any, settings: CommandSettings) -> None:
    subcommand = Subcommand(
        name="pods",
        run=pods,
        text="what runs here, and what was refused: one line a pod",
        examples=(
            "supervise pods",
            "supervise pods -o wide",
            "supervise pods -w -n kube-system",
            "supervise pods -l app=web",
        ),
        outputs=(*_OUTPUTS, "name"),
        codes=_CODES,
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument(
        "name", nargs="*", default=[], metavar="NAME", help="only these pods: NAME, NAMESPACE/NAME or UID"
    )
    _namespace(parser)
    parser.add_argument("-l", "--selector", type=_selector, default=[], help="only with these labels, as app=web,!old")
    parser.add_argument("--show-labels", action="store_true", help="with a last column of their labels")
    _no_headers(parser)
    parser.add_argument("-w", "--watch", action="store_true", help="keep watching: show each pod again when it changes")


def _describe(subcommands: Any, settings: CommandSettings) -> None:
    text = "everything known about one pod"
    examples = ("supervise describe pod web", "supervise describe pod web -o yaml")
    below = subcommands.add_parser(
        "describe",
        help=text,
        description="Everything known about one pod: what its worker does, why it waits, what happened to it.",
        epilog=epilog(examples, _CODES),
        formatter_class=CommandHelp,
    ).add_subparsers(required=True, metavar="pod [NAME]")
    subcommand = Subcommand(name="pod", run=describe, text=text, examples=examples, outputs=_OUTPUTS, codes=_CODES)
    parser = add_subcommand(below, settings, subcommand)
    parser.add_argument(
        "name", nargs="?", default="", metavar="NAME", help="NAME, NAMESPACE/NAME or UID (default: all pods)"
    )
    _namespace(parser)
    parser.add_argument("-w", "--watch", action="store_true", help="keep watching: show it again when it changes")


def _events(subcommands: Any, settings: CommandSettings) -> None:
    subcommand = Subcommand(
        name="events",
        run=events,
        text="what happened to the pods and the node, newest last",
        examples=("supervise events", "supervise events web -w", "supervise events -o json"),
        outputs=_OUTPUTS,
        codes=_CODES,
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "pod", nargs="?", default="", metavar="POD", help="only of this pod: NAME or NAMESPACE/NAME; of this node: node"
    )
    one.add_argument("--for", dest="of", default="", metavar="POD", help="the same")
    _namespace(parser)
    parser.add_argument("--types", type=_event_types, default=(), help="only these: Normal, Warning")
    _no_headers(parser)
    parser.add_argument("-w", "--watch", "-f", "--follow", action="store_true", help="keep showing new events")


def _namespace(parser: argparse.ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group()
    one.add_argument("-n", "--namespace", action=_Namespace, default="", help="only of this namespace")
    one.add_argument("-A", "--all-namespaces", action="store_true", help="of all: as without -n")


class _Namespace(argparse.Action):
    """A namespace, as with kubectl. `-n` is a count of lines to other commands: after it a number alone is refused."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if option_string == "-n" and values.isdecimal():
            lines, named = f"`{parser.prog} | tail -n {values}`", f"--namespace={values}"
            text = f"a namespace is meant; the last {values} lines: {lines}; a namespace of this name: {named}"
            raise argparse.ArgumentError(self, text)
        setattr(namespace, self.dest, values)


def _no_headers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-headers", action="store_true", help="without the line that names the columns")


def _selector(text: str) -> list[Requirement]:
    """A label selector, for argparse."""
    try:
        return label_selector.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _event_types(text: str) -> tuple[str, ...]:
    """Types of events by comma, in any case, for argparse."""
    types = tuple(each.strip().capitalize() for each in text.split(","))
    if wrong := [each for each in types if each not in ("Normal", "Warning")]:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} is neither Normal nor Warning")
    return types
