"""The `supervise` command of the tree in `supervised.py`, as an application composes it: start is not there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from supervision.cli.agent_files import AgentFiles
from supervision.cli.parser import CommandParser
from supervision.cli.streams import guarded
from supervision.cli.subcommand import CommandSettings
from supervision.cli.subcommands import register

if TYPE_CHECKING:
    from supervision.spec import ChildSpec


def where(arguments: argparse.Namespace) -> AgentFiles:
    home = Path(arguments.root_dir)
    return AgentFiles(Path(arguments.run_dir) if arguments.run_dir else home / "run", home / "incidents.jsonl")


def tree_of() -> tuple[ChildSpec, Collection[str]]:
    from tests.support.sample_tree import tree

    return tree(), ("late", "deaf")


def main() -> int:
    parser = CommandParser(prog="supervise")
    register(parser.add_subparsers(required=True), CommandSettings(where, tree_of, policy_file="policy.yaml"))
    arguments = parser.parse_args()
    return guarded(lambda: int(arguments.execute(arguments)))


if __name__ == "__main__":
    sys.exit(main())
