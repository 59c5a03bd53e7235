"""The supervision policies in force, by the full names of the tree."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..policy_rules import LONGEST_SECONDS
from ..spec import ChildSpec, Policy, walk
from ..time_scale import scaled


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
