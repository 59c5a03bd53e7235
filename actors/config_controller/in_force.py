"""The configuration that is in force, the one that is wanted, and which actors are still to be restarted. Pure."""

from __future__ import annotations

import msgspec

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

from .consumers import Consumers, can_change, consumers_of


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent runs with now. Each method gives the next value."""

    running: KubeletConfiguration
    wanted: KubeletConfiguration
    """What the sources say. It differs from `running` in fields that wait for a restart of the agent."""
    policy: str = ""
    """The text of the supervision policy."""
    to_restart: tuple[str, ...] = ()
    """Actors of the rolling restart that the fork server has not accepted yet."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """The top-level fields that wait for a restart of the agent."""
        return differing(self.running, self.wanted)

    def changed_to(
        self, wanted: KubeletConfiguration, consumers: Consumers, workers: int
    ) -> tuple[InForce, tuple[str, ...]]:
        """`wanted` put in force as far as the agent can without a restart; and the top-level fields that changed.

        The runtime's cgroup driver stays. `consumers`: who reads which field. `workers`: the number of pod workers.
        """
        wanted = msgspec.structs.replace(wanted, cgroupDriver=self.running.cgroupDriver)
        changed = tuple(field for field in differing(self.running, wanted) if can_change(field))
        running = msgspec.structs.replace(self.running, **{field: getattr(wanted, field) for field in changed})
        to_restart = tuple(dict.fromkeys((*self.to_restart, *consumers_of(changed, consumers, workers))))
        return msgspec.structs.replace(self, running=running, wanted=wanted, to_restart=to_restart), changed

    def with_cgroup_driver(self, driver: str) -> InForce:
        """The runtime says which cgroup driver it uses, and wins over the configuration."""
        running, wanted = (
            msgspec.structs.replace(config, cgroupDriver=driver) for config in (self.running, self.wanted)
        )
        return msgspec.structs.replace(self, running=running, wanted=wanted)

    def with_policy(self, policy: str) -> InForce:
        return msgspec.structs.replace(self, policy=policy)

    def restarted(self, names: tuple[str, ...]) -> InForce:
        """The fork server restarts these."""
        return msgspec.structs.replace(self, to_restart=tuple(name for name in self.to_restart if name not in names))


def differing(one: KubeletConfiguration, other: KubeletConfiguration) -> tuple[str, ...]:
    """The top-level fields in which they differ."""
    return tuple(field for field in one.__struct_fields__ if getattr(one, field) != getattr(other, field))
