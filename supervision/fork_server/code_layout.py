"""Places the code that actors run on few memory pages.

An interpreter writes to the code that it runs (reference counts, specialised bytecode, inline caches), and a page that
is written to is no longer shared. The functions that actors run lie among hundreds that they never run. So, before the
first fork, the code of each function that the application lists as run by its actors, and of each that ran in the
warm-up, is replaced by a copy; the copies are made in one go, in this order, and lie side by side.

Switch: `code_layout` (memory_switches.py). With name_layout.py it saves 13 MiB of the whole tree's 167 (PSS, 23 actors,
10 pods, CPython 3.11; docs/decisions/memory-profile.md).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

_WRAPPED: Final = ("__func__", "fget", "__wrapped__", "func")
"""Where a method, a property or a decorator keeps the function."""


def profiled(run: Callable[[], None]) -> list[str]:
    """The functions that run in a call of `run`, as `bring_together` takes them, in order of first call."""
    seen: dict[str, None] = {}

    def called(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.setdefault(f"{frame.f_globals.get('__name__')} {frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(before)
    return list(seen)


def bring_together(names: Iterable[str]) -> None:
    """Replace the code of each of these functions, `module qualified_name`, by a copy.

    Functions that do not exist, or that are made inside another function, are skipped."""
    found = [function for name in dict.fromkeys(names) if (function := _function(name)) is not None]
    copies = [_copy(function.__code__) for function in found]  # all of them before the first old one is freed
    for function, code in zip(found, copies, strict=True):
        function.__code__ = code


def _function(name: str) -> FunctionType | None:
    module, _, qualified = name.partition(" ")
    found: Any = sys.modules.get(module)
    for part in qualified.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    while found is not None:
        if isinstance(found, FunctionType) and found.__code__.co_qualname == qualified:
            return found
        found = next((inner for place in _WRAPPED if (inner := getattr(found, place, None)) is not None), None)
    return None


def _copy(code: CodeType) -> CodeType:
    """Copy the code together with its constants and nested functions, so that they lie side by side."""
    first, *others = code.co_consts or (None,)  # the first may be the docstring, which is not used
    copied = (_copy(first) if isinstance(first, CodeType) else first, *map(_copy_constant, others))
    return code.replace(co_consts=copied)


def _copy_constant(constant: object) -> object:
    """An equal constant at another address. Strings that look like names are interned and stay where they are."""
    if isinstance(constant, CodeType):
        return _copy(constant)
    if type(constant) is tuple:
        return tuple([_copy_constant(one) for one in constant])
    if type(constant) is str:
        return f"{constant} "[:-1]
    return constant
