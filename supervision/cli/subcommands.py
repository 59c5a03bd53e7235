"""Puts the subcommands on an application's argument parser.

parser = argparse.ArgumentParser(prog="supervise")
subcommands = parser.add_subparsers(required=True)
register(subcommands, CommandSettings(files_of=..., tree_of=..., policy_file=...))
arguments = parser.parse_args()
sys.exit(arguments.execute(arguments))
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, get_args

from ..protocol import Fault
from .argument_types import count, last_lines, number, positive, since, whole_number
from .command import NO_ANSWER, NOT_RUNNING, NOT_WELL, OK, REFUSED, Context
from .command_parser import CommandSettings, command_parser
from .document import FORMS, WIDE
from .parser import CODES, LOCAL_CODES, CommandHelp, epilog
from .top_keys import HELP

_ONLY: Final = "only this actor and those below it"


def register(subcommands: Any, settings: CommandSettings) -> None:
    """Add `stop`, `status`, `tree`, `top`, `incidents`, `logs`, `inject`, `policy show` and `policy check`.

    `subcommands` is the result of `ArgumentParser.add_subparsers`. Each sets `execute` in the parsed arguments: a
    function of the arguments that returns the exit code.
    """
    adding = _Adding(subcommands, settings)
    _status(subcommands, settings)
    parser = adding.add(
        "tree",
        "every actor with pid, state, uptime, restarts, memory, mailbox and last incident",
        ("supervise tree", "supervise tree pod_workers", "supervise tree -o json"),
        {**CODES, REFUSED: "no such actor; the agent is another user's"},
        ("text", WIDE, *FORMS),
    )
    parser.add_argument("actor", nargs="?", default="", help=_ONLY)
    _stop(adding)
    _top(adding)
    _incidents(adding)
    _logs(adding)
    _inject(adding)
    _policy(subcommands, settings)


class _Adding:
    def __init__(self, subcommands: Any, settings: CommandSettings) -> None:
        self._subcommands, self.settings = subcommands, settings

    def add(
        self,
        name: str,
        text: str,
        examples: Sequence[str],
        codes: Mapping[int, str] = CODES,
        outputs: Sequence[str] = ("text", *FORMS),
    ) -> argparse.ArgumentParser:
        """Add a subcommand. Its module is imported only when it is called."""

        def run(context: Context) -> int:
            code: int = import_module(f"{__package__}.{name}").run(context)
            return code

        return command_parser(self._subcommands, name, run, text, self.settings, examples, outputs, codes)


def _status(subcommands: Any, settings: CommandSettings) -> None:
    def run(context: Context) -> int:
        from . import status

        return status.run(context, settings.others or (lambda context, tree: ()), settings.advice(context.arguments))

    command_parser(
        subcommands,
        "status",
        run,
        "whether the agent is ready, degraded or down, and why",
        settings,
        ("supervise status", "supervise status -o json", "supervise status >/dev/null || supervise doctor"),
        codes={
            **CODES,
            OK: "ready",
            NOT_WELL: "degraded, starting or stopping; each reason has a line",
            NOT_RUNNING: "down: no agent runs there, or its root supervisor is stopped or hangs",
            NO_ANSWER: "down: the fork server does not answer in time",
        },
    )


def _stop(adding: _Adding) -> None:
    parser = adding.add(
        "stop",
        "stop the agent in order, and wait for it; pods keep running",
        ("supervise stop", "supervise stop --wait 30"),
        {**CODES, OK: "it has stopped", NO_ANSWER: "it did not answer, or did not stop, in time"},
    )
    parser.add_argument("--wait", type=positive, default=120.0, metavar="S", help="seconds to wait (default: 120)")
    parser.add_argument("--no-wait", action="store_true", help="return as soon as the stop has begun")


def _top(adding: _Adding) -> None:
    parser = adding.add(
        "top",
        "the tree, refreshed, with processor time and messages a second; h shows the keys",
        ("supervise top", "supervise top -d 5", "supervise top -n 1 -o json  # one sample, for scripts"),
    )
    keys = "\n".join(f"    {line}" for line in HELP)
    parser.epilog = f"Keys, on a terminal:\n\n{keys}\n\n{parser.epilog}"
    parser.add_argument(
        "-d", "--interval", type=positive, default=1.0, metavar="S", help="seconds between refreshes (default: 1)"
    )
    parser.add_argument(
        "-n", "--count", type=count, default=0, metavar="N", help="end after N refreshes (default: 0, never)"
    )


def _incidents(adding: _Adding) -> None:
    parser = adding.add(
        "incidents",
        "recorded faults, newest last; works without a running agent",
        (
            "supervise incidents",
            "supervise incidents pleg --full",
            "supervise incidents -n 5 -o json",
            "supervise incidents -f",
        ),
        {
            **LOCAL_CODES,
            NOT_RUNNING: "no agent runs there, and none has ever",
            REFUSED: "no such actor; the record cannot be read",
        },
    )
    parser.add_argument("actor", nargs="?", default="", help=_ONLY)
    parser.add_argument(
        "-n", "--lines", type=last_lines, default=20, metavar="N", help="show the last N; -1: all (default: 20)"
    )
    parser.add_argument("--full", action="store_true", help="with tracebacks and stacks")
    parser.add_argument("-f", "--follow", "-w", "--watch", action="store_true", help="keep showing new ones")
    parser.add_argument("--file", default="", help="read this file instead")


def _logs(adding: _Adding) -> None:
    parser = adding.add(
        "logs",
        adding.settings.logs,
        ("supervise logs pleg --since 5m", "supervise logs pod_workers -f", "supervise logs pleg --level 4"),
        {**CODES, REFUSED: "no such actor, pod or container; no log; the agent is another user's"},
    )
    parser.add_argument("actor", nargs="?", default="", help="an actor, or a supervisor (default: all)")
    parser.add_argument(
        "-n",
        "--lines",
        type=adding.settings.lines,
        metavar="N",
        help="show the last N lines; -1: all (default: 100; with --since all)",
    )
    parser.add_argument("--since", type=since, default=0.0, metavar="5m", help="only lines of the last 90s, 5m, 1h30m")
    parser.add_argument("-f", "--follow", action="store_true", help="keep showing new lines")
    parser.add_argument("--file", default="", help="read this file instead")
    parser.add_argument("--level", type=count, metavar="N", help="set the actor's log verbosity to N, and show nothing")


def _inject(adding: _Adding) -> None:
    from ..faults import EXPLAINED

    parser = adding.add(
        "inject",
        "inject a fault into an actor",
        (
            "supervise inject pleg crash",
            "supervise inject worker/0 hang --seconds 5",
            "supervise inject volume_manager leak --rate 20 --seconds 2",
        ),
        {**CODES, REFUSED: "no such actor, or not a fault for it; the agent is another user's"},
    )
    parser.add_argument("actor", help="its name in `supervise tree`, or the end of it: pod_workers/worker/0, worker/0")
    parser.add_argument(
        "fault", choices=get_args(Fault), metavar="FAULT", help="; ".join(f"{f}: {t}" for f, t in EXPLAINED.items())
    )
    parser.add_argument(
        "--seconds", type=number, default=0.0, metavar="S", help="how long it lasts (default: until replaced)"
    )
    parser.add_argument(
        "--rate", type=positive, default=0.0, help="how much of leak, slow or drop (default: 10 MiB/s, 0.5 s, 0.5)"
    )
    parser.add_argument(
        "--status", type=whole_number, default=None, metavar="CODE", help="the exit code of the fault exit (default: 1)"
    )


def _policy(subcommands: Any, settings: CommandSettings) -> None:
    text = "the supervision policy: show the one in force, check a file"
    examples = ("supervise policy show", "supervise policy check etc/supervision.yaml")
    below = subcommands.add_parser(
        "policy",
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=epilog(examples, {**CODES, NOT_WELL: "`check`: the file has errors, each with line, actor and field"}),
        formatter_class=CommandHelp,
    ).add_subparsers(required=True, metavar="COMMAND")

    def show(context: Context) -> int:
        from . import policy

        return policy.show(context)

    parser = command_parser(below, "show", show, "the policy of each actor that is in force", settings, examples[:1])
    parser.add_argument("actor", nargs="?", default="", help=_ONLY)
    tree_of = settings.tree_of
    if tree_of is None:
        return

    def check(context: Context) -> int:
        from . import policy

        return policy.check(context, tree_of, settings.policy_file)

    text = "validate a policy file; if it is valid, show each actor's policy"
    codes = {**LOCAL_CODES, OK: "it is valid", NOT_WELL: "it has errors, each with line, actor and field"}
    parser = command_parser(below, "check", check, text, settings, examples[1:], codes=codes, asks=False)
    parser.add_argument("file", nargs="?", default="", help="(default: that of this installation)")
