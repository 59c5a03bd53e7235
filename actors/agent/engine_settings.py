"""What the engine's commands (`supervise tree`, `status`, `logs`, `policy`) need to know of this agent.

Imports only what a command needs, when it needs it."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervision.cli.agent_files import AgentFiles
    from supervision.cli.command import Context
    from supervision.cli.health import Reason
    from supervision.cli.subcommand import CommandSettings
    from supervision.protocol import Tree
    from supervision.spec import ChildSpec

_LOGS = "the log of a pod, of one actor, or of a supervisor and all below it"


def engine_settings(root_dir: str = "") -> CommandSettings:
    """`root_dir`: of commands without --root-dir; '': by the environment."""
    from supervision.cli.subcommand import CommandSettings

    from .guessed_words import lines_or_namespace

    return CommandSettings(
        files_of=agent_files,
        tree_of=_tree,
        root_dir=root_dir or _root_dir(),
        policy_file=_policy_file(),
        others=_status_reasons,
        advice=_advice,
        logs=_LOGS,
        lines=lines_or_namespace,
    )


def agent_files(arguments: argparse.Namespace) -> AgentFiles:
    from actors.shared.config.paths import run_dir_of, state_dir_of
    from supervision.cli.agent_files import AgentFiles, LastStart, RefusedStart

    state_dir = Path(state_dir_of(arguments.root_dir))
    usual = run_dir_of(arguments.root_dir)
    run_dir = arguments.run_dir or _held_by_last_start(usual, state_dir) or usual
    of_root = Path(run_dir_of(arguments.root_dir, uid=0)) if run_dir == usual else None

    def last_start() -> LastStart | None:
        from actors.shared.config.flags.run_once import given_flags
        from actors.shared.config.start import refused_starts
        from actors.shared.config.start.start_records import last_of
        from supervision.hanging_disks import hangs

        record = None if arguments.run_dir or hangs(state_dir) else last_of(str(state_dir))
        command = None if record is None else record.command
        refused = None if arguments.run_dir else refused_starts.last_of(run_dir)
        if refused is not None and refused.flags:
            return LastStart(refused.flags, refused.directory, command.log_file if command is not None else "")
        return None if command is None else LastStart(given_flags(command.flags), command.directory, command.log_file)

    def refused_start() -> RefusedStart | None:
        from actors.shared.config.start import refused_starts

        refused = refused_starts.last_of(run_dir)
        return None if refused is None else RefusedStart(refused.at, refused.problems)

    def unit(pid: int) -> str:
        from .service_unit import unit_of

        return unit_of(pid)

    return AgentFiles(
        run_dir=Path(run_dir),
        incident_file=state_dir / "incidents.jsonl",
        lock=state_dir / "lock",
        run_dir_of_root=of_root,
        last_start=last_start,
        refused_start=refused_start,
        unit=unit,
    )


def _held_by_last_start(usual: str, state_dir: Path) -> str:
    """The run directory of an agent that was started with --run-dir, while it is held; '' if there is none."""
    from actors.shared.config.start.start_records import last_of
    from supervision.hanging_disks import hangs

    if os.path.lexists(f"{usual}/lock") or hangs(state_dir):
        return ""
    record = last_of(str(state_dir))
    return record.run_dir if record is not None and os.path.lexists(f"{record.run_dir}/lock") else ""


def _status_reasons(context: Context, tree: Tree) -> Iterable[Reason]:
    from actors.agent.status import agent_reasons

    return agent_reasons(context, tree)


def _advice(arguments: argparse.Namespace) -> str:
    from actors.shared.config.paths import DEFAULT_ROOT_DIR
    from supervision.cli.typed_commands import program

    place = "" if arguments.root_dir == DEFAULT_ROOT_DIR else f" --root-dir {shlex.quote(arguments.root_dir)}"
    place += f" --run-dir {shlex.quote(arguments.run_dir)}" if arguments.run_dir else ""
    return f"for the cause and what to do: {program()} doctor{place}"


def _tree() -> tuple[ChildSpec, tuple[str, ...]]:
    from actors.shared.config.agent import Agent
    from actors.tree import OPTIONAL, tree

    return tree(Agent()), OPTIONAL


def _root_dir() -> str:
    from actors.shared.config.paths import default_root_dir

    return default_root_dir()


def _policy_file() -> str:
    from actors.shared.config.paths import default_policy_file

    return default_policy_file()
