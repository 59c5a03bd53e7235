"""Plain data and Thespian's own messages on the wire, for actors that are written for plain Thespian. No pickle.

Plain data is msgpack's types, tuples, sets, times, actor addresses and registered Messages. Sending anything else
raises TypeError. Exception: a program with its own system base (`objects=True`) also sends its classes and their
objects (`plain_objects.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import msgspec
from thespian.actors import (
    ActorAddress,
    ActorExitRequest,
    ChildActorExited,
    DeadEnvelope,
    PoisonMessage,
    WakeupMessage,
)

from ..actor import Address, ChildExited
from ..errors import UNREADABLE
from ..message import Message, registered, type_name
from ..process_messages import Payload
from . import plain_objects
from .wire import WireError


def wrap(payload: Any, *, objects: bool = False) -> Message:
    """Any payload as a Message. Raises TypeError when it is not plain data."""
    if isinstance(payload, Message):
        return payload
    try:
        return Payload(msgspec.msgpack.encode(_pack(payload, objects)))
    except RecursionError:
        raise TypeError(f"{type(payload).__qualname__} is nested too deeply, or contains itself") from None
    except OverflowError:
        raise TypeError("an integer of more than 64 bits is not plain data") from None


def unwrap(message: Message, *, objects: bool = False) -> Any:
    """The payload of a Message. Raises WireError when it cannot be read."""
    if not isinstance(message, Payload):
        return message
    try:
        return _unpack(msgspec.msgpack.decode(message.data), objects)
    except (*UNREADABLE, KeyError, TypeError, OverflowError, ImportError, AttributeError) as error:
        raise WireError(f"bad payload: {error}") from error


def _address(name: Any) -> Address:
    return Address(str(name))


def _message(kind: str, raw: bytes) -> Message:
    found = registered(kind)
    if found is None:
        raise WireError(f"unknown message type {kind!r}")
    return msgspec.msgpack.decode(raw, type=found)


_OBJECT, _CLASS, _MEMBER = _OWN = (11, 14, 15)
_PARTS: dict[type, tuple[int, Callable[[Any], list[Any]]]] = {
    tuple: (2, list),
    set: (3, list),
    frozenset: (4, list),
    ActorExitRequest: (5, lambda m: [m.isRecursive]),
    ChildActorExited: (6, lambda m: [m.childAddress]),
    ChildExited: (6, lambda m: [m.childAddress]),
    DeadEnvelope: (7, lambda m: [m.deadAddress, m.deadMessage]),
    PoisonMessage: (8, lambda m: [m.poisonMessage, m.details]),
    WakeupMessage: (9, lambda m: [m.delayPeriod, m.payload]),
    timedelta: (12, lambda t: [t.days, t.seconds, t.microseconds]),
    datetime: (13, lambda t: [t.isoformat()]),
}
_MAKERS: dict[int, Callable[..., Any]] = {
    1: _address,
    2: lambda *items: items,
    3: lambda *items: set(items),
    4: lambda *items: frozenset(items),
    5: ActorExitRequest,
    6: ChildActorExited,
    7: DeadEnvelope,
    8: PoisonMessage,
    9: WakeupMessage,
    10: _message,
    _OBJECT: plain_objects.build,
    12: timedelta,
    13: datetime.fromisoformat,
    _CLASS: plain_objects.class_named,
    _MEMBER: plain_objects.member_named,
}
_PLAIN = (str, bytes, int, float, bool, type(None))


def _pack(value: Any, objects: bool) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_pack(item, objects) for item in value]
    if kind is dict:
        return {_pack(key, objects): _pack(item, objects) for key, item in value.items()}
    if kind in _PARTS:
        code, parts = _PARTS[kind]
        return _extension(code, parts(value), objects)
    if isinstance(value, ActorAddress):
        return _extension(1, [str(value.addressDetails)], objects)
    if isinstance(value, Message):
        return msgspec.msgpack.Ext(10, msgspec.msgpack.encode([type_name(kind), msgspec.msgpack.encode(value)]))
    if objects:
        return _own(value)
    raise TypeError(f"{kind.__qualname__} is not plain data: it cannot be sent without pickle")


def _own(value: Any) -> msgspec.msgpack.Ext:
    """A class of the program, a member of an enum, or an object. Raises TypeError."""
    if isinstance(value, type):
        return _extension(_CLASS, [plain_objects.name_of(value)], objects=True)
    if isinstance(value, Enum):
        return _extension(_MEMBER, list(plain_objects.member_names(value)), objects=True)
    return _extension(_OBJECT, list(plain_objects.attributes(value)), objects=True)


def _extension(code: int, parts: list[Any], objects: bool) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(code, msgspec.msgpack.encode([_pack(part, objects) for part in parts]))


def _unpack(value: Any, objects: bool) -> Any:
    if isinstance(value, list):
        return [_unpack(item, objects) for item in value]
    if isinstance(value, dict):
        return {_unpack(key, objects): _unpack(item, objects) for key, item in value.items()}
    if isinstance(value, msgspec.msgpack.Ext):
        parts = msgspec.msgpack.decode(value.data)
        if value.code in _OWN and not objects:
            raise ValueError("a class and its objects are not read here")
        return _MAKERS[value.code](*(parts if value.code == 10 else (_unpack(part, objects) for part in parts)))
    return value
