"""Puts the subcommands on an application's argument parser.

parser = argparse.ArgumentParser(prog="supervise")
subcommands = parser.add_subparsers(required=True)
register(subcommands, CommandSettings(files_of=..., tree_of=..., policy_file=...))
arguments = parser.parse_args()
sys.exit(arguments.execute(arguments))
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, get_args

from ..protocol import Fault
from .argument_types import count, last_lines, number, positive, since, whole_number
from .command import NO_ANSWER, NOT_RUNNING, NOT_WELL, OK, REFUSED, Context, Run, TreeOf
from .document import FORMS, WIDE
from .parser import CODES, LOCAL_CODES, CommandHelp, epilog
from .subcommand import CommandSettings, Subcommand, add_subcommand
from .top_keys import HELP

_ONLY: Final = "only this actor and those below it"


def register(subcommands: Any, settings: CommandSettings) -> None:
    """Add `status`, `tree`, `stop`, `top`, `incidents`, `logs`, `inject`, `policy show` and `policy check`.

    `subcommands` is the result of `ArgumentParser.add_subparsers`. Each sets `execute` in the parsed arguments: a
    function of the arguments that returns the exit code.
    """
    _status(subcommands, settings)
    _tree(subcommands, settings)
    _stop(subcommands, settings)
    _top(subcommands, settings)
    _incidents(subcommands, settings)
    _logs(subcommands, settings)
    _inject(subcommands, settings)
    _policy(subcommands, settings)


def _run_of(module: str) -> Run:
    """The `run` of a module of this package, which is imported only when the subcommand is called."""

    def run(context: Context) -> int:
        code: int = import_module(f"{__package__}.{module}").run(context)
        return code

    return run


def _status(subcommands: Any, settings: CommandSettings) -> None:
    def run(context: Context) -> int:
        from . import status

        return status.run(context, settings.others or (lambda context, tree: ()), settings.advice(context.arguments))

    subcommand = Subcommand(
        name="status",
        run=run,
        text="whether the agent is ready, degraded or down, and why",
        examples=("supervise status", "supervise status -o json", "supervise status >/dev/null || supervise doctor"),
        codes={
            **CODES,
            OK: "ready",
            NOT_WELL: "degraded, starting or stopping; each reason has a line",
            NOT_RUNNING: "down: no agent runs there, or its root supervisor is stopped or hangs",
            NO_ANSWER: "down: the fork server does not answer in time; unknown: it runs another version",
        },
    )
    add_subcommand(subcommands, settings, subcommand)


def _tree(subcommands: Any, settings: CommandSettings) -> None:
    subcommand = Subcommand(
        name="tree",
        run=_run_of("tree"),
        text="every actor with pid, state, uptime, restarts, memory, mailbox and last incident",
        examples=("supervise tree", "supervise tree pod_workers", "supervise tree -o json"),
        outputs=("text", WIDE, *FORMS),
        codes={**CODES, REFUSED: "no such actor; the agent is another user's"},
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument("actor", nargs="?", default="", metavar="ACTOR", help=_ONLY)


def _stop(subcommands: Any, settings: CommandSettings) -> None:
    subcommand = Subcommand(
        name="stop",
        run=_run_of("stop"),
        text="stop the agent in order, and wait for it; pods keep running",
        examples=("supervise stop", "supervise stop --wait 30"),
        codes={**CODES, OK: "it has stopped", NO_ANSWER: "it did not answer, or did not stop, in time"},
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument("--wait", type=positive, default=120.0, metavar="S", help="seconds to wait (default: 120)")
    parser.add_argument("--no-wait", action="store_true", help="return as soon as the stop has begun")


def _top(subcommands: Any, settings: CommandSettings) -> None:
    subcommand = Subcommand(
        name="top",
        run=_run_of("top"),
        text="the tree, refreshed, with processor time and messages a second; h shows the keys",
        examples=("supervise top", "supervise top -d 5", "supervise top -n 1 -o json  # one sample, for scripts"),
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    keys = "\n".join(f"    {line}" for line in HELP)
    parser.epilog = f"Keys, on a terminal:\n\n{keys}\n\n{parser.epilog}"
    parser.add_argument(
        "-d", "--interval", type=positive, default=1.0, metavar="S", help="seconds between refreshes (default: 1)"
    )
    parser.add_argument(
        "-n", "--count", type=count, default=0, metavar="N", help="end after N refreshes (default: 0, never)"
    )


def _incidents(subcommands: Any, settings: CommandSettings) -> None:
    subcommand = Subcommand(
        name="incidents",
        run=_run_of("incidents"),
        text="recorded faults, newest last; works without a running agent",
        examples=(
            "supervise incidents",
            "supervise incidents pleg --full",
            "supervise incidents -n 5 -o json",
            "supervise incidents -f",
        ),
        codes={
            **LOCAL_CODES,
            NOT_RUNNING: "no agent runs there, and none has ever",
            REFUSED: "no such actor; the record cannot be read",
        },
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument("actor", nargs="?", default="", metavar="ACTOR", help=_ONLY)
    parser.add_argument(
        "-n", "--lines", type=last_lines, default=20, metavar="N", help="show the last N; -1: all (default: 20)"
    )
    parser.add_argument("--full", action="store_true", help="with tracebacks and stacks")
    parser.add_argument("-f", "--follow", "-w", "--watch", action="store_true", help="keep showing new ones")
    parser.add_argument("--file", default="", help="read this file instead")


def _logs(subcommands: Any, settings: CommandSettings) -> None:
    subcommand = Subcommand(
        name="logs",
        run=_run_of("logs"),
        text=settings.logs,
        examples=("supervise logs pleg --since 5m", "supervise logs pod_workers -f", "supervise logs pleg --level 4"),
        codes={**CODES, REFUSED: "no such actor, pod or container; no log; the agent is another user's"},
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument(
        "actor", nargs="?", default="", metavar="ACTOR", help="an actor, or a supervisor (default: all)"
    )
    parser.add_argument(
        "-n",
        "--lines",
        type=settings.lines,
        metavar="N",
        help="show the last N lines; -1: all (default: 100; with --since all)",
    )
    parser.add_argument("--since", type=since, default=0.0, metavar="5m", help="only lines of the last 90s, 5m, 1h30m")
    parser.add_argument("-f", "--follow", action="store_true", help="keep showing new lines")
    parser.add_argument("--file", default="", help="read this file instead")
    parser.add_argument("--level", type=count, metavar="N", help="set the actor's log verbosity to N, and show nothing")


def _inject(subcommands: Any, settings: CommandSettings) -> None:
    from ..faults import EXPLAINED

    subcommand = Subcommand(
        name="inject",
        run=_run_of("inject"),
        text="inject a fault into an actor",
        examples=(
            "supervise inject pleg crash",
            "supervise inject worker/0 hang --seconds 5",
            "supervise inject volume_manager leak --rate 20 --seconds 2",
        ),
        codes={**CODES, REFUSED: "no such actor, or not a fault for it; the agent is another user's"},
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument(
        "actor",
        metavar="ACTOR",
        help="its name in `supervise tree`, or the end of it: pod_workers/worker/0, worker/0",
    )
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
    _policy_show(below, settings, examples[:1])
    if settings.tree_of is not None:
        _policy_check(below, settings, settings.tree_of, examples[1:])


def _policy_show(below: Any, settings: CommandSettings, examples: Sequence[str]) -> None:
    def show(context: Context) -> int:
        from . import policy

        return policy.show(context)

    text = "the policy of each actor that is in force"
    parser = add_subcommand(below, settings, Subcommand(name="show", run=show, text=text, examples=examples))
    parser.add_argument("actor", nargs="?", default="", metavar="ACTOR", help=_ONLY)


def _policy_check(below: Any, settings: CommandSettings, tree_of: TreeOf, examples: Sequence[str]) -> None:
    def check(context: Context) -> int:
        from . import policy

        return policy.check(context, tree_of, settings.policy_file)

    subcommand = Subcommand(
        name="check",
        run=check,
        text="validate a policy file; if it is valid, show each actor's policy",
        examples=examples,
        codes={**LOCAL_CODES, OK: "it is valid", NOT_WELL: "it has errors, each with line, actor and field"},
        asks=False,
    )
    parser = add_subcommand(below, settings, subcommand)
    parser.add_argument("file", nargs="?", default="", help="(default: that of this installation)")
