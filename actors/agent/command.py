"""`supervise`: the one command. Each subcommand imports only what it needs, so that those that ask a running agent are
quick and work while it is wedged; `kubelet`, by which name a unit of systemd may call it, is `supervise start`.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from supervision.cli.command import Where
    from supervision.spec import ChildSpec


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit code."""
    from actors.agent.shadowed_packages import shadowed

    if wrong := shadowed():
        sys.stderr.write(f"supervise: {wrong}\n")
        return 1
    words = list(sys.argv[1:] if argv is None else argv)
    if os.path.basename(sys.argv[0]) == "kubelet" and argv is None:
        return _start(words, "kubelet")
    if words[:1] == ["start"]:
        return _start(words[1:], "supervise start")
    if words[:1] == ["run-once"]:
        from actors.agent.run_once import run as run_once

        return run_once(words[1:])
    if words[:1] == ["config"]:
        from actors.config_controller.commands import MORE
        from actors.shared.config.commands import run

        return run(words[1:], more={**MORE, "check": _check})
    arguments = _parser(words).parse_args(words)
    return int(arguments.execute(arguments))


def _start(words: list[str], program: str) -> int:
    from supervision.fork_server.fork_hooks import drop_fork_hooks

    gc.disable()  # until the fork server is ready to fork: what is loaded until then stays, and is no garbage
    drop_fork_hooks()
    from actors.agent.start import start

    return start(words, program)


def _check(words: Sequence[str], as_json: bool, out: TextIO) -> int:
    """`config check`, with what the configuration package cannot validate."""
    from actors.agent.validation import validate
    from actors.shared.config.commands import check

    return check(words, as_json, out, validate)


def _parser(words: list[str]) -> argparse.ArgumentParser:
    from supervision.cli.register import CommandSettings, register

    parser = argparse.ArgumentParser(
        prog="supervise", description="Troupelet: a Kubernetes node agent as a supervised tree of actors."
    )
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    subcommands.add_parser("start", help="run the node agent (takes the kubelet's flags)", add_help=False)
    subcommands.add_parser("run-once", help="start the pods of files and URLs, print the result, end", add_help=False)
    settings = CommandSettings(where=_where, tree_of=_tree, policy_file=_policy_file())
    register(subcommands, settings)
    if not words or words[0] in ("pods", "describe", "events", "-h", "--help"):
        from actors.agent.inspection.commands import register as register_inspection

        register_inspection(subcommands, settings)
    subcommands.add_parser("config", help="validate, show, explain, roll back configurations", add_help=False)
    if not words or words[0] in ("demo", "-h", "--help"):
        from actors.agent.demo.command import register as register_demo

        demo = register_demo(subcommands)
        demo.set_defaults(execute=demo.get_default("run"))
    return parser


def _where(arguments: argparse.Namespace) -> Where:
    from actors.shared.config.paths import run_dir_of, state_dir_of
    from supervision.cli.command import Where

    run_dir = arguments.run_dir or run_dir_of(arguments.root_dir)
    state_dir = Path(state_dir_of(arguments.root_dir))
    return Where(Path(run_dir), state_dir / "incidents.jsonl", state_dir / "lock")


def _tree() -> tuple[ChildSpec, tuple[str, ...]]:
    from actors.shared.config.agent import Agent
    from actors.tree import OPTIONAL, tree

    return tree(Agent()), OPTIONAL


def _policy_file() -> str:
    from actors.shared.config.paths import default_policy_file

    return default_policy_file()


if __name__ == "__main__":
    sys.exit(main())
