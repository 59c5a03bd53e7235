"""The arguments of `doctor`. --help needs them without the checks, which import the clients of runtime and cluster."""

from __future__ import annotations

import argparse
from typing import Any

from supervision.cli.command import NOT_WELL, OK, Context
from supervision.cli.parser import LOCAL_CODES
from supervision.cli.subcommand import CommandSettings, Subcommand, add_subcommand, refuse_word


def register(subcommands: Any, settings: CommandSettings) -> None:
    """Add `doctor`."""
    subcommand = Subcommand(
        name="doctor",
        run=_run,
        text="what keeps the node from Ready or pods from Running, and what mends it",
        examples=(
            "supervise doctor",
            "supervise doctor --all",
            "supervise doctor -- --config=/etc/troupelet/config.yaml  # before a start",
        ),
        codes={**LOCAL_CODES, OK: "no failure", NOT_WELL: "one or more failures"},
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument("--all", action="store_true", help="show what is in order, too")
    parser.add_argument(
        "flags", nargs=argparse.REMAINDER, help="after --: flags of start (default: those of the running agent)"
    )


def _run(context: Context) -> int:
    refuse_word(context, "doctor")
    from .command import run

    return run(context)
