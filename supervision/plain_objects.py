"""Objects of a program's own message classes, as plain data: the name of the class and the attributes. No pickle.

Only a system base of a program's own sends and reads them (`system_base.py`), whose actors are started by the names of
their classes anyway. The class is imported, and none of its code is called: an object is made empty and given its
attributes, so `__init__`, `__reduce__`, `__setstate__` and properties play no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .class_names import class_name, load


def attributes(value: Any) -> tuple[str, dict[str, Any]]:
    """(`module:Class`, attributes by name). Raises TypeError where the object cannot be made again from these."""
    kind = type(value)
    name = class_name(kind)
    if not _is_found(kind, name):
        raise TypeError(f"{kind.__qualname__} cannot be sent: {name} is not found by its name")
    object.__new__(kind)  # a TypeError for what has state outside of its attributes, as a list's subclass has
    return name, {**_slots(value, kind), **getattr(value, "__dict__", {})}


def made(name: str, values: Mapping[str, Any]) -> Any:
    """The object again. Raises ImportError, AttributeError, TypeError, ValueError."""
    kind = load(name)
    if not isinstance(kind, type):
        raise TypeError(f"{name} is no class")
    found: Any = object.__new__(kind)
    for attribute, value in values.items():
        object.__setattr__(found, attribute, value)
    return found


def _is_found(kind: type, name: str) -> bool:
    try:
        return load(name) is kind
    except (ImportError, AttributeError, ValueError):
        return False


def _slots(value: Any, kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in kind.__mro__:
        slots = each.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                found[slot] = getattr(value, slot)
    return found
