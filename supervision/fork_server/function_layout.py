"""Places the function objects that actors run on few memory pages.

A call counts a reference to the function object too. Function objects are where their modules made them: the 600 that
actors run lay on 140 pages among 13,000 others, and fit on 23. So, before the first fork, each is replaced by a copy
that has the code placed by code_layout.py; the copies are made in one go.

A function is replaced only if all references to it are known: those of modules and of its class, or of one property of
its class. So no reference to the old function is left. A function that a decorator, a table or an instance refers to is
not replaced.

Switch: `function_layout` (memory_switches.py). It saves 1.1 MiB of the whole tree's 151 (PSS, 24 actors, 10 pods,
CPython 3.11).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any, Final

from .memory_switches import is_on

_OPTIONAL: Final = ("__doc__", "__module__", "__qualname__", "__kwdefaults__", "__type_params__")
"""Attributes that a new function takes from its code and globals, and that may have been changed since."""


class _Reference:
    """A reference to a function: the name by which a module, a class or a property holds it."""

    def __init__(self, owner: ModuleType | type, attribute: str) -> None:
        self._owner, self._attribute = owner, attribute

    def get(self) -> FunctionType | None:
        """The function. None if there is none, or if its property has another reference."""
        found = vars(self._owner).get(self._attribute)
        if type(found) is property and sys.getrefcount(found) == _SOLE_AND_VARIABLE:
            found = found.fget
        return found if type(found) is FunctionType else None

    def set(self, function: FunctionType) -> None:
        """Make it refer to this function."""
        before = vars(self._owner)[self._attribute]
        value: Any = function
        if type(before) is property:
            value = property(function, before.fset, before.fdel, before.__doc__)
        if isinstance(self._owner, type):
            type.__setattr__(self._owner, self._attribute, value)  # the metaclass's own may have effects
        else:
            setattr(self._owner, self._attribute, value)


def _count_with_variable(kept: dict[str, object]) -> int:
    found = kept.get("sample")
    return sys.getrefcount(found)


_SOLE_AND_VARIABLE: Final = _count_with_variable({"sample": object()})
"""The reference count, in this interpreter, of an object with one reference and a local variable."""


def bring_functions_together(names: Iterable[str]) -> None:
    """Replace each of these functions, `module qualified_name`, by a copy, if that is switched on. Functions that do
    not exist, or that have references of unknown owners, are skipped."""
    if not is_on("function_layout"):
        return
    references = _references(names)
    copies: list[tuple[list[_Reference], FunctionType]] = []
    for known in references.values():
        function = known[0].get()
        if function is not None and sys.getrefcount(function) == _SOLE_AND_VARIABLE + len(known) - 1:
            copies.append((known, _copy_function(function)))
        del function
    for known, copy in copies:  # after all are copied: else a copy would take the memory of a replaced function
        for reference in known:
            reference.set(copy)


def _references(names: Iterable[str]) -> dict[int, list[_Reference]]:
    """The known references to each function, by its id."""
    found: dict[int, list[_Reference]] = {}
    for name in dict.fromkeys(names):
        home, _, qualified = name.partition(" ")
        owner: Any = sys.modules.get(home)
        *classes, attribute = qualified.split(".")
        for one in classes:
            owner = vars(owner).get(one) if isinstance(owner, ModuleType | type) else None
        if isinstance(owner, ModuleType | type):
            reference = _Reference(owner, attribute)
            if (function := reference.get()) is not None and not weakref.getweakrefcount(function):
                found[id(function)] = [reference] if isinstance(owner, type) else []
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            for attribute, value in vars(module).items():
                if id(value) in found:
                    found[id(value)].append(_Reference(module, attribute))
    return {function: known for function, known in found.items() if known}


def _copy_function(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    for attribute in _OPTIONAL:
        if (value := getattr(function, attribute, None)) != getattr(copy, attribute, None):
            setattr(copy, attribute, value)
    if function.__annotations__:
        copy.__annotations__ = function.__annotations__
    if vars(function):  # vars() creates the dict
        vars(copy).update(vars(function))
    return copy
