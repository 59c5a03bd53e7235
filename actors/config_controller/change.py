"""What of a new configuration can be put in force while the agent runs, and who is to be told. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

from .readers import can_change, fields_read_by, readers_of_all


def differing(one: KubeletConfiguration, other: KubeletConfiguration) -> tuple[str, ...]:
    """The top-level fields in which they differ."""
    return tuple(field for field in one.__struct_fields__ if getattr(one, field) != getattr(other, field))


def step(running: KubeletConfiguration, wanted: KubeletConfiguration) -> tuple[KubeletConfiguration, tuple[str, ...]]:
    """From what runs towards what is wanted, as far as that goes without a restart; with the fields that changed."""
    changed = tuple(field for field in differing(running, wanted) if can_change(field))
    return msgspec.structs.replace(running, **{field: getattr(wanted, field) for field in changed}), changed


def renewed(changed: Iterable[str], listeners: Collection[str], workers: int) -> tuple[str, ...]:
    """Who is to be replaced for a change: those who read it and do not listen."""
    return tuple(name for name in readers_of_all(changed, workers) if name not in listeners)


def told(changed: Iterable[str], listeners: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Who is told of a change: listener to the changed fields that it reads. Who reads none is left alone."""
    fields = tuple(changed)
    found = {name: fields_read_by(name, fields) for name in listeners}
    return {name: read for name, read in found.items() if read}
