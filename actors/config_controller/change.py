"""What of a new configuration can be put in force while the agent runs, and who is to be told. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.config.kubelet_configuration import KubeletConfiguration

from .readers import can_change, fields_read_by


def differing(one: KubeletConfiguration, other: KubeletConfiguration) -> tuple[str, ...]:
    """The top-level fields in which they differ."""
    return tuple(field for field in one.__struct_fields__ if getattr(one, field) != getattr(other, field))


def step(
    running: KubeletConfiguration, wanted: KubeletConfiguration, listeners: Iterable[str]
) -> tuple[KubeletConfiguration, tuple[str, ...]]:
    """From what runs towards what is wanted, as far as those who listen allow; with the fields that changed."""
    names = tuple(listeners)
    changed = tuple(field for field in differing(running, wanted) if can_change(field, names))
    return msgspec.structs.replace(running, **{field: getattr(wanted, field) for field in changed}), changed


def told(changed: Iterable[str], listeners: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Who is told of a change: listener to the changed fields that it reads. Who reads none is left alone."""
    fields = tuple(changed)
    found = {name: fields_read_by(name, fields) for name in listeners}
    return {name: read for name, read in found.items() if read}
