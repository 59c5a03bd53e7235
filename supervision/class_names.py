"""Names of actor classes: Thespian writes `module.Class`, the tree `module:Class`."""

from __future__ import annotations


def class_name(actor_class: type | str) -> str:
    """`module:Class`, of a class or of Thespian's `module.Class`."""
    if isinstance(actor_class, str):
        module, _, name = actor_class.rpartition(".")
        return f"{module}:{name}"
    return f"{actor_class.__module__}:{actor_class.__qualname__}"
