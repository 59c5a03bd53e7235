"""Names of classes and functions: Thespian writes `module.Class`, the tree `module:Class`."""

from __future__ import annotations

from typing import Any


def class_name(actor_class: type | str) -> str:
    """`module:Class`, of a class or of Thespian's `module.Class`."""
    if isinstance(actor_class, str):
        module, _, name = actor_class.rpartition(".")
        return f"{module}:{name}"
    return f"{actor_class.__module__}:{actor_class.__qualname__}"


def load(name: str) -> Any:
    """Import `module:attribute`. Raises ImportError, AttributeError."""
    module, _, attribute = name.partition(":")
    found: Any = __import__(module, fromlist=["_"])
    for part in attribute.split("."):
        found = getattr(found, part)
    return found
