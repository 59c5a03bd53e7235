"""Objects of a program's own message classes, as plain data: the name of the class and the attributes. No pickle. The
classes themselves and the members of enums are sent by their names.

Only a program's own system base sends and reads them (`system_base.py`); it starts its actors by class name anyway. The
class is imported, but none of its code is called: an empty object gets its attributes, without `__init__`,
`__reduce__`, `__setstate__` or properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from ..class_names import class_name, load


def attributes(value: Any) -> tuple[str, dict[str, Any]]:
    """(`module:Class`, attributes by name). Raises TypeError if these are not enough to make the object again."""
    kind = type(value)
    name = name_of(kind)
    try:
        object.__new__(kind)
    except TypeError:  # as of a subclass of list
        raise TypeError(f"{kind.__qualname__} cannot be sent: an object of it is more than its attributes") from None
    return name, {**_slots(value, kind), **getattr(value, "__dict__", {})}


def build(name: str, values: Mapping[str, Any]) -> Any:
    """Make the object from its class and attributes. Raises ImportError, AttributeError, TypeError, ValueError."""
    found: Any = object.__new__(class_named(name))
    for attribute, value in values.items():
        object.__setattr__(found, attribute, value)
    return found


def name_of(kind: type) -> str:
    """`module:Class`. Raises TypeError if the class is not found by that name."""
    name = class_name(kind)
    if not _is_found(kind, name):
        raise TypeError(f"{kind.__qualname__} cannot be sent: {name} is not found by its name")
    return name


def class_named(name: str) -> type:
    """Raises ImportError, AttributeError, ValueError; TypeError if it is no class."""
    kind = load(name)
    if not isinstance(kind, type):
        raise TypeError(f"{name} is no class")
    return kind


def member_names(member: Enum) -> tuple[str, str]:
    """(`module:Class`, name). Raises TypeError if the member has no name of its own, such as a sum of flags."""
    kind = type(member)
    if kind.__members__.get(member.name or "") is not member:
        raise TypeError(f"{member!r} cannot be sent: it has no name in {kind.__qualname__}")
    return name_of(kind), member.name


def member_named(name: str, member: str) -> Enum:
    """Raises ImportError, AttributeError, ValueError, TypeError; KeyError if there is no such member."""
    kind = class_named(name)
    if not issubclass(kind, Enum):
        raise TypeError(f"{name} is no enum")
    return kind.__members__[member]


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
