"""The text form of /flagz and /statusz."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, "
    "has no formatting compatibility guarantees and is for debugging purposes only.\n"
)


def page(title: str, lines: Iterable[str]) -> str:
    return f"\n{title}\n{WARNING}\n" + "\n".join(lines) + "\n"
