"""Puts the subcommands on an application's argument parser.

parser = argparse.ArgumentParser(prog="supervise")
subcommands = parser.add_subparsers(required=True)
register(subcommands, CommandSettings(where=..., tree_of=..., policy_file=...))
arguments = parser.parse_args()
sys.exit(arguments.execute(arguments))
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

from ..protocol import Fault
from . import __doc__ as _codes
from .command import DEFAULT_ROOT_DIR, Context, Run, TreeOf, Where, default_where, execute

if TYPE_CHECKING:
    from .status import Others

EXIT_CODES = "Exit codes:" + (_codes or "").partition("Exit codes:")[2].rstrip()
_ANSWER_SECONDS = 5.0
_SINCE = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


@dataclass(frozen=True)
class CommandSettings:
    """What the subcommands need from the application."""

    where: Callable[[argparse.Namespace], Where] = default_where
    tree_of: TreeOf | None = None
    """None: there is no `policy check`."""
    root_dir: str = DEFAULT_ROOT_DIR
    """Used when --root-dir is not given."""
    policy_file: str = "etc/supervision.yaml"
    """The file to check by default."""
    others: Others | None = None
    """What the application adds to the reasons of `status`."""
    advice: Callable[[argparse.Namespace], str] = lambda arguments: ""
    """The last line of a `status` that is not ready: where more is said."""


def register(subcommands: Any, settings: CommandSettings = CommandSettings()) -> None:
    """Add `stop`, `status`, `tree`, `top`, `incidents`, `logs`, `inject`, `policy show` and `policy check`.

    `subcommands` is the result of `ArgumentParser.add_subparsers`. Each sets `execute` in the parsed arguments: a
    function of the arguments that returns the exit code.
    """
    adding = _Adding(subcommands, settings)
    _status(subcommands, settings)
    adding.add("tree", "every actor with pid, state, uptime, restarts, memory, mailbox and last incident")
    _stop(adding.add("stop", "stop the agent in order, and wait for it"))
    _top(adding.add("top", "the tree, refreshed, with processor time and messages a second; h shows the keys"))
    _incidents(adding.add("incidents", "recorded faults, newest last; works without a running agent"))
    _logs(adding.add("logs", "the log of one actor, or of a supervisor and all below it"))
    _inject(adding.add("inject", "inject a fault into an actor"))
    _policy(subcommands, settings)


class _Adding:
    def __init__(self, subcommands: Any, settings: CommandSettings) -> None:
        self._subcommands, self._settings = subcommands, settings

    def add(self, name: str, text: str) -> argparse.ArgumentParser:
        """Add a subcommand. Its module is imported only when it is called."""

        def run(context: Context) -> int:
            code: int = import_module(f"{__package__}.{name}").run(context)
            return code

        return command_parser(self._subcommands, name, run, text, self._settings)


def command_parser(
    subcommands: Any,
    name: str,
    run: Run,
    text: str,
    settings: CommandSettings,
    outputs: Sequence[str] = ("text", "json"),
) -> argparse.ArgumentParser:
    """Add a subcommand with the options that all have. `outputs`: what -o may be, the default first."""
    parser: argparse.ArgumentParser = subcommands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--root-dir", default=settings.root_dir, metavar="DIR", help="that of the agent (default: %(default)s)"
    )
    parser.add_argument(
        "--run-dir", default="", metavar="DIR", help="the directory of its sockets, if not below --root-dir"
    )
    parser.add_argument("-o", "--output", choices=outputs, default=outputs[0], help="(default: %(default)s)")
    parser.add_argument(
        "--timeout",
        type=positive,
        default=_ANSWER_SECONDS,
        metavar="S",
        help="seconds to wait for an answer (default: 5)",
    )
    parser.set_defaults(execute=lambda arguments: execute(run, arguments, settings.where))
    return parser


def positive(text: str) -> float:
    """A number above zero, for argparse."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return value


def count(text: str) -> int:
    """A whole number from zero, for argparse."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def since(text: str) -> float:
    """Seconds of `90s`, `5m`, `1h30m`, for argparse."""
    found = _SINCE.fullmatch(text)
    if not text or found is None:
        raise argparse.ArgumentTypeError(f"{text} is no duration as 90s, 5m or 1h30m")
    hours, minutes, seconds = (int(number or 0) for number in found.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


def _status(subcommands: Any, settings: CommandSettings) -> None:
    def run(context: Context) -> int:
        from . import status

        return status.run(context, settings.others or (lambda context, tree: ()), settings.advice(context.arguments))

    text = "whether the agent is ready (exit code 0), degraded (1) or down (3), and why"
    command_parser(subcommands, "status", run, text, settings)


def _stop(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", type=positive, default=120.0, metavar="S", help="how long (default: 120)")
    parser.add_argument("--no-wait", action="store_true", help="return as soon as the stop has begun")


def _top(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-d", "--interval", type=positive, default=1.0, metavar="S", help="seconds (default: 1)")
    parser.add_argument("-n", "--count", type=count, default=0, help="end after N refreshes (default: never)")


def _incidents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("actor", nargs="?", default="", help="only this actor and those below it")
    parser.add_argument("-n", "--lines", type=count, default=20, help="show the last N; 0: all (default: 20)")
    parser.add_argument("--full", action="store_true", help="with tracebacks and stacks")
    parser.add_argument("--file", default="", help="read this file instead")


def _logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("actor", nargs="?", default="", help="an actor, or a supervisor (default: all)")
    parser.add_argument(
        "-n", "--lines", type=count, help="show the last N lines; 0: all (default: 100; with --since all)"
    )
    parser.add_argument("--since", type=since, default=0.0, metavar="5m", help="only younger lines: 90s, 5m, 1h30m")
    parser.add_argument("-f", "--follow", action="store_true", help="keep showing new lines")
    parser.add_argument("--file", default="", help="read this file instead")
    parser.add_argument(
        "--level", type=int, default=None, metavar="N", help="set the actor's log verbosity to N, and show nothing"
    )


def _inject(parser: argparse.ArgumentParser) -> None:
    from ..faults import EXPLAINED

    parser.add_argument(
        "actor", help="its name in `supervise tree`, with those of its supervisors: pod_workers/worker/0"
    )
    parser.add_argument(
        "fault", choices=get_args(Fault), metavar="FAULT", help="; ".join(f"{f}: {t}" for f, t in EXPLAINED.items())
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="how long it lasts (default: until replaced)")
    parser.add_argument("--rate", type=float, default=0.0, help="of leak, slow, drop (default: 10 MiB/s, 0.5 s, 0.5)")
    parser.add_argument("--status", type=int, default=1, help="of exit (default: 1)")


def _policy(subcommands: Any, settings: CommandSettings) -> None:
    below = subcommands.add_parser("policy", help="the supervision policy").add_subparsers(required=True)

    def show(context: Context) -> int:
        from . import policy

        return policy.show(context)

    command_parser(below, "show", show, "the policy of each actor that is in force", settings)
    tree_of = settings.tree_of
    if tree_of is None:
        return

    def check(context: Context) -> int:
        from . import policy

        return policy.check(context, tree_of, settings.policy_file)

    text = "validate a policy file; if it is valid, show each actor's policy"
    parser = command_parser(below, "check", check, text, settings)
    parser.add_argument("file", nargs="?", default="", help="(default: that of this installation)")
