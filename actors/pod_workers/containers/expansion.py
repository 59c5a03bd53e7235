"""`$(NAME)` in commands, arguments and values (API doc of Container.command): pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping


def expand(text: str, values: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, an unknown one stays as it is, `$$` is one `$`."""
    return _replaced(text, lambda name: values.get(name, f"$({name})"))


def expand_all(texts: Iterable[str], values: Mapping[str, str]) -> list[str]:
    return [expand(text, values) for text in texts]


def named(text: str) -> list[str]:
    """The variables to which the text refers, in order."""
    found: list[str] = []

    def note(name: str) -> str:
        found.append(name)
        return ""

    _replaced(text, note)
    return found


def _replaced(text: str, value_of: Callable[[str], str]) -> str:
    if "$" not in text:
        return text
    out, at = [], 0
    while at < len(text):
        char = text[at]
        following = text[at + 1 : at + 2]
        if char != "$" or not following:
            out.append(char)
            at += 1
        elif following == "$":
            out.append("$")
            at += 2
        elif following == "(" and (end := text.find(")", at + 2)) >= 0:
            out.append(value_of(text[at + 2 : end]))
            at = end + 1
        else:
            out.append("$" + following)
            at += 2
    return "".join(out)
