"""`$(NAME)` in commands, arguments and values (API doc of Container.command): pure.

References can make a small pod's texts grow without bound. A result that the kernel would not pass to a program
(execve(2): E2BIG) is refused before it is built.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final

MOST_OF_ONE: Final = 32 * os.sysconf("SC_PAGESIZE")
"""Linux's MAX_ARG_STRLEN: bytes of one argument or variable."""
MOST_TOGETHER: Final = 6 << 20
"""Linux's maximum bytes of all arguments and variables of a program, for any stack size."""


class ExpansionError(ValueError):
    """The result would be longer than the kernel takes."""


def expand(text: str, values: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, an unknown one stays unchanged, `$$` is one `$`. Raises ExpansionError."""
    return _replace(text, lambda name: values.get(name, f"$({name})"))


def expand_all(texts: Iterable[str], values: Mapping[str, str]) -> list[str]:
    """Raises ExpansionError."""
    found: list[str] = []
    length = 0
    for text in texts:
        found.append(expand(text, values))
        length += len(found[-1])
        check_together(length)
    return found


def check_together(length: int) -> None:
    """`length`: characters of the texts of one program so far. Raises ExpansionError."""
    if length > MOST_TOGETHER:
        raise ExpansionError(f"arguments or environment exceed {MOST_TOGETHER} bytes: the kernel takes no more")


def named(text: str) -> list[str]:
    """The variables to which the text refers, in order."""
    found: list[str] = []

    def note(name: str) -> str:
        found.append(name)
        return ""

    _replace(text, note)
    return found


def _replace(text: str, value_of: Callable[[str], str]) -> str:
    out: list[str] = []
    length = at = 0
    last = text.rfind(")")
    while (dollar := text.find("$", at)) >= 0:
        following = text[dollar + 1 : dollar + 2]
        if following == "(" and dollar + 2 <= last:
            end = text.index(")", dollar + 2)
            value = value_of(text[dollar + 2 : end])
            length += dollar - at + len(value)
            if length > MOST_OF_ONE:
                raise ExpansionError(f"{text[:40]!r} becomes longer than {MOST_OF_ONE} bytes: the kernel takes no more")
            out += (text[at:dollar], value)
            at = end + 1
        else:
            # `$$` is one `$`; before anything else it is itself
            out.append(text[at : dollar + 1] if following == "$" else text[at : dollar + 2])
            at = dollar + 2
    return "".join(out) + text[at:]
