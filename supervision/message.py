"""Messages between actors: frozen msgspec Structs, registered by name when their class is defined.

The wire carries (type name, msgpack of the fields). An unregistered name is refused, so a peer cannot make this process
import or run anything.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from functools import cache
from typing import Any, ClassVar, ForwardRef, Generic, TypeVar, get_args

import msgspec

R_co = TypeVar("R_co", bound="Message", covariant=True)

_TYPES: dict[str, type[Message]] = {}


class Message(msgspec.Struct, frozen=True):
    """Base class of every message.

    Subclasses are declared with `frozen=True`, live in the `messages.py` of the actor that receives them, and give each
    field a unit. Large objects are `bytes` fields with their original JSON.

    `coalesce`: names of the fields that make the key of a state-like message. While one waits in a queue, a newer one
    of the same type and key replaces it, and takes its own place at the end of the queue. `()` means one per type; None
    (the default) means each one counts.
    """

    coalesce: ClassVar[tuple[str, ...] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _TYPES[type_name(cls)] = cls

    def coalesce_key(self) -> Hashable | None:
        """The key under which a newer message replaces this one in a queue, or None."""
        if self.coalesce is None:
            return None
        return (type(self), *(getattr(self, name) for name in self.coalesce))


def type_name(cls: type) -> str:
    """The name of a message type on the wire: its module and qualified name."""
    return f"{cls.__module__}.{cls.__qualname__}"


def registered(name: str) -> type[Message] | None:
    """The message type of that name, or None if no loaded module declares it."""
    return _TYPES.get(name)


def known_types() -> list[str]:
    """The names of all message types that loaded modules declare."""
    return sorted(_TYPES)


class Question(Message, Generic[R_co], frozen=True):
    """A message that is answered with a message of type R_co: `class GetPods(Question["Pods"], frozen=True)`.

    Every other message has no answer.
    """


@cache
def reply_of(question: type[Question[Any]]) -> Any:
    """The answer type of a question, or a union of types, for `isinstance`."""
    (reply,) = next(get_args(base) for cls in question.__mro__ for base in getattr(cls, "__orig_bases__", ())[:1])
    if not isinstance(reply, ForwardRef):
        return reply
    return eval(reply.__forward_arg__, vars(sys.modules[question.__module__]))  # noqa: S307 - written in our source
