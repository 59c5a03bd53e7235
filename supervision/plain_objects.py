"""Objects of a program's own message classes, as plain data: the name of the class and the attributes. No pickle.

Only a program's own system base sends and reads them (`system_base.py`); it starts its actors by class name anyway. The
class is imported, but none of its code is called: an empty object gets its attributes, without `__init__`,
`__reduce__`, `__setstate__` or properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .class_names import class_name, load


def attributes(value: Any) -> tuple[str, dict[str, Any]]:
    """(`module:Class`, attributes by name). Raises TypeError if these are not enough to make the object again."""
    kind = type(value)
    name = class_name(kind)
    if not _is_found(kind, name):
        raise TypeError(f"{kind.__qualname__} cannot be sent: {name} is not found by its name")
    object.__new__(kind)  # raises TypeError for a class with other state, such as a subclass of list
    return name, {**_slots(value, kind), **getattr(value, "__dict__", {})}


def build(name: str, values: Mapping[str, Any]) -> Any:
    """Make the object from its class and attributes. Raises ImportError, AttributeError, TypeError, ValueError."""
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
