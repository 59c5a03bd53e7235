"""Names of objects in requests: pods name objects by any text, and it must stay one name. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

_IN_SELECTOR: Final = str.maketrans({"\\": "\\\\", ",": "\\,", "=": "\\="})


def misread_name(path: str) -> str:
    """Why the server would read a part of the percent-encoded path as other parts, in the words of client-go; '' if it
    would not. Go's servers decode a path before they split it."""
    return next((f'invalid resource name "{name}": [{wrong}]' for name, wrong in _wrong_parts(path)), "")


def _wrong_parts(path: str) -> Iterator[tuple[str, str]]:
    for name in map(unquote, path.split("/")):
        if name in (".", ".."):
            yield name, f"may not be '{name}'"
        elif mark := next((one for one in "/%" if one in name), ""):
            yield name, f"may not contain '{mark}'"


def selector_value(text: str) -> str:
    """The text as a value of a field selector."""
    return text.translate(_IN_SELECTOR)
