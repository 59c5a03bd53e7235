"""Child specs: what a supervisor is told of its children. Words and meaning are those of Erlang/OTP's supervisor.

The tree (names, classes, arguments) is code, written by the application as nested `ChildSpec`s; the policy (restart
type, intensity, budgets, ceilings) is data, read from the policy file and joined to it by name (`policy.py`).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Restart = Literal["permanent", "transient", "temporary"]
Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
Significance = Literal["none", "any_significant", "all_significant"]


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one actor is supervised. Field meanings and limits are in etc/supervision.yaml, which is read into this."""

    restart: Restart = "permanent"
    shutdown_seconds: float = 5.0
    start_seconds: float = 10.0
    heartbeat_seconds: float = 10.0
    memory_mib: int = 256
    significant: bool = False
    # the rest is for supervisors only
    strategy: Strategy = "one_for_one"
    max_restarts: int = 5
    period_seconds: float = 30.0
    auto_shutdown: Significance = "none"


class ChildSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One box of the tree."""

    name: str
    """Last part of the actor's name, or `worker/0`: unique among its siblings."""
    actor: str = ""
    """The actor's class as `module:Class`; empty for a program and for a plain supervisor."""
    program: tuple[str, ...] = ()
    """argv of a program that is supervised as it is, in place of an actor."""
    environment: dict[str, str] = {}
    ready_socket: str = ""
    """A program is in service once this Unix socket accepts a connection; empty: at once."""
    log_file: str = ""
    """Where a program's stdout and stderr go; empty: the stage's own."""
    children: tuple[ChildSpec, ...] = ()
    """Given for a supervisor; started in this order, stopped in reverse."""
    arguments: dict[str, Any] = {}
    """Passed to the actor class as keyword arguments."""

    @property
    def is_supervisor(self) -> bool:
        return bool(self.children) or self.actor.endswith("Supervisor")
