"""`supervise policy`: the policies in force (`show`), and all errors of a policy file before it is used (`check`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from ..spec import GetPolicies, PoliciesInForce, Policy
from ..supervisor.policy import load
from ..supervisor.policy_file import PolicyError
from .command import NOT_WELL, OK, Context, TreeOf
from .text import narrow_table, plain, terminal_columns
from .tree import chosen

HEADER = ("NAME", "RESTART", "INTENSITY", "START", "STOP", "HEARTBEAT", "BUSY", "MEMORY", "STRATEGY")
_SPARE = ("STRATEGY", "BUSY", "STOP", "START", "HEARTBEAT", "MEMORY", "INTENSITY")
"""Columns that are left out on a narrow terminal, in this order."""


def show(context: Context) -> int:
    policies = context.ask(GetPolicies(), PoliciesInForce).policies
    if context.arguments.actor:
        tree = context.tree()
        shown, _ = chosen(tree, context.full_name(context.arguments.actor, tree))
        policies = {actor.name: policies[actor.name] for actor in shown if actor.name in policies}
    context.show({"policies": policies}, "\n".join(_lines(policies)))
    return OK


def check(context: Context, tree_of: TreeOf, default_file: str) -> int:
    path = Path(context.arguments.file or default_file)
    tree, also_known = tree_of()
    try:
        policies = load(path, tree, also_known)
    except PolicyError as error:
        if context.form:
            context.show({"valid": False, "problems": error.problems}, "")
        else:
            print(plain(str(error)), file=sys.stderr)  # noqa: T201 - what is wrong goes to stderr
        return NOT_WELL
    context.show({"valid": True, "policies": policies}, "\n".join([f"{path}: no errors", *_lines(policies)]))
    return OK


def _lines(policies: Mapping[str, Policy]) -> list[str]:
    rows = [_row(name, policy) for name, policy in policies.items()]
    return narrow_table(HEADER, rows, terminal_columns(sys.stdout), _SPARE)


def _row(name: str, policy: Policy) -> tuple[str, ...]:
    return (
        name,
        policy.restart,
        f"{policy.max_restarts} in {policy.period_seconds:g}s",
        f"{policy.start_seconds:g}s",
        f"{policy.shutdown_seconds:g}s",
        f"{policy.heartbeat_seconds:g}s" if policy.heartbeat_seconds else "-",
        f"{policy.busy_seconds:g}s" if policy.busy_seconds else "-",
        f"{policy.memory_mib}M" if policy.memory_mib else "-",
        policy.strategy,
    )
