"""The arguments of `reset`, apart from its actions, which import the client of the runtime: --help does not need it."""

from __future__ import annotations

import argparse
from typing import Any, Final

from supervision.cli.command import NOT_WELL, OK, REFUSED, Context
from supervision.cli.parser import LOCAL_CODES
from supervision.cli.subcommand import CommandSettings, Subcommand, add_subcommand, refuse_word

_ABOUT: Final = """\
Lists what there is of the agent with this root directory, asks, and removes
it: pods with their containers, mounts, cgroups, networks, sockets and files.
It refuses while the agent runs. Volumes of storage drivers are unmounted
only: drain the node first. Images go with the managed runtime, and stay in
any other.

Only what is surely this agent's is touched: pods whose UID has a directory
below --root-dir, and what the agent made. The flags of the start are known
from the last starts."""


def register(subcommands: Any, settings: CommandSettings) -> None:
    """Add `reset`."""
    subcommand = Subcommand(
        name="reset",
        run=_run,
        text="remove what an agent left on this host: pods, mounts, cgroups, networks, sockets, files",
        examples=("supervise reset --dry-run", "supervise reset", "supervise reset --yes --keep-pods"),
        codes={
            **LOCAL_CODES,
            OK: "nothing is left, or nothing was there",
            NOT_WELL: "something could not be removed; the rest is gone",
            REFUSED: "an agent runs there; no consent; another user's",
        },
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.description = _ABOUT
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="list only")
    parser.add_argument("--all", action="store_true", help="list everything, not only the first of many")
    parser.add_argument(
        "--keep-pods",
        action="store_true",
        help="remove the agent's own files and sockets only, to go on with a kubelet",
    )
    parser.add_argument(
        "--without-runtime",
        action="store_true",
        help="go on although the runtime does not answer: containers are killed by their cgroups, its records stay",
    )
    parser.add_argument(
        "flags", nargs=argparse.REMAINDER, help="after --: flags of start, if the agent never recorded its directories"
    )


def _run(context: Context) -> int:
    refuse_word(context, "reset")
    from .command import run

    return run(context)
