"""The configuration in force, the desired one, and the actors that are still to be restarted. Pure."""

from __future__ import annotations

import msgspec

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

from .consumers import MEMORY_RESERVED, RESERVED, Consumers, can_change, consumers_of, outcome


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration that the agent runs with now. Each method returns a new value."""

    running: KubeletConfiguration
    desired: KubeletConfiguration
    """The configuration of the sources. It differs from `running` in fields that wait for a restart of the agent."""
    policy: str = ""
    """The text of the supervision policy."""
    to_restart: tuple[str, ...] = ()
    """Actors of the rolling restart that the fork server has not accepted yet."""
    outcome: str = ""
    """The effect of each field of the last change, as text."""

    @property
    def waiting(self) -> tuple[str, ...]:
        """The top-level fields that wait for a restart of the agent."""
        return differing(self.running, self.desired)

    def changed_to(
        self, desired: KubeletConfiguration, consumers: Consumers, workers: int
    ) -> tuple[InForce, tuple[str, ...]]:
        """Apply the fields of `desired` that can change at run time; the second value is the fields that changed.

        The runtime's cgroup driver stays. `consumers`: the fields that each actor reads. `workers`: number of shards.
        """
        desired = msgspec.structs.replace(desired, cgroupDriver=self.running.cgroupDriver)
        pinned = _pinned_fields(self.running)
        changed = tuple(
            field
            for field in differing(self.running, desired)
            if can_change(field, getattr(self.running, field), getattr(desired, field), consumers)
            and field not in pinned
        )
        running = msgspec.structs.replace(self.running, **{field: getattr(desired, field) for field in changed})
        to_restart = tuple(dict.fromkeys((*self.to_restart, *consumers_of(changed, consumers, workers))))
        after = msgspec.structs.replace(self, running=running, desired=desired, to_restart=to_restart)
        return msgspec.structs.replace(after, outcome=outcome(changed, after.waiting, consumers)), changed

    def with_cgroup_driver(self, driver: str) -> InForce:
        """Apply the cgroup driver that the runtime reports; it takes precedence over the configuration."""
        running, desired = (
            msgspec.structs.replace(config, cgroupDriver=driver) for config in (self.running, self.desired)
        )
        return msgspec.structs.replace(self, running=running, desired=desired)

    def with_policy(self, policy: str) -> InForce:
        return msgspec.structs.replace(self, policy=policy)

    def restarted(self, names: tuple[str, ...]) -> InForce:
        """The fork server has accepted the restart of these actors."""
        return msgspec.structs.replace(self, to_restart=tuple(name for name in self.to_restart if name not in names))


def _pinned_fields(running: KubeletConfiguration) -> frozenset[str]:
    """The fields that wait for a restart because pods have CPUs or memory of their own by them."""
    if running.memoryManagerPolicy == "Static":
        return MEMORY_RESERVED
    return RESERVED if running.cpuManagerPolicy == "static" else frozenset()


def differing(one: KubeletConfiguration, other: KubeletConfiguration) -> tuple[str, ...]:
    """The top-level fields in which two configurations differ."""
    return tuple(field for field in one.__struct_fields__ if getattr(one, field) != getattr(other, field))
