"""The supervision policies in force, by the full names of the tree."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import msgspec

from ..protocol import FORK_SERVER
from ..spec import ChildSpec, Policy, SetPolicies, walk
from ..supervisor.policy_rules import LONGEST_SECONDS
from ..time_scale import scaled
from .child_checks import changed
from .process_table import ProcessTable

log = logging.getLogger(FORK_SERVER)


class Policies:
    """The policy of each name in the tree; one that is not given has the default of its spec.

    Its deadlines are scaled for this machine (time_scale.py).
    """

    def __init__(self, tree: ChildSpec, given: Mapping[str, Policy]) -> None:
        self.by_name = {name: _scale_deadlines(given.get(name, spec.default_policy)) for name, _, spec in walk(tree)}

    def of(self, name: str, default: Policy) -> Policy:
        """The policy of a name; `default` for an actor that is in no spec."""
        return self.by_name.get(name, default)

    def update(self, changed: Mapping[str, Policy]) -> None:
        """Replace the policies of the names in the tree."""
        self.by_name.update(
            {name: _scale_deadlines(policy) for name, policy in changed.items() if name in self.by_name}
        )


class PolicyOrders:
    """Puts ordered policies in force: in the table, at the supervisors, and in the checks (`reschedule`)."""

    def __init__(self, policies: Policies, table: ProcessTable, reschedule: Callable[[], None]) -> None:
        self._policies, self._table, self._on_change = policies, table, reschedule

    @property
    def in_force(self) -> dict[str, Policy]:
        """By full name, in the order of the tree."""
        return self._policies.by_name

    def put_in_force(self, order: SetPolicies) -> None:
        """Supervisors that start later get them, too."""
        self._policies.update(order.policies)
        for child in self._table:
            child.apply_policy(changed(child, self._policies.of(child.name, child.policy)))
            if child.kind == "supervisor" and child.process.uplink is not None and child.process.uplink.is_open:
                child.process.uplink.send(SetPolicies(self._policies.by_name))
        self._on_change()
        log.info("the supervision policy has changed, for %d actors", len(order.policies))


def _scale_deadlines(policy: Policy) -> Policy:
    return msgspec.structs.replace(
        policy,
        start_seconds=_deadline(policy.start_seconds),
        shutdown_seconds=_deadline(policy.shutdown_seconds),
        heartbeat_seconds=_deadline(policy.heartbeat_seconds),
        busy_seconds=_deadline(policy.busy_seconds),
    )


def _deadline(seconds: float) -> float:
    """The deadline, scaled for this machine and still valid."""
    return min(scaled(seconds), LONGEST_SECONDS)
