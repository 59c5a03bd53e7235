"""Passwords in URLs, which are shown without them. Pure."""

from __future__ import annotations

import re
from typing import Final

_PASSWORD: Final = re.compile(r'(://[^/?#@\s":]*:)[^/?#@\s"]*(?=@)')
_INSTEAD: Final = "xxxxx"
"""As in Go's texts."""


def without_passwords(text: str) -> str:
    """The text, with each password of a URL in it (`https://user:password@host/`) replaced."""
    return _PASSWORD.sub(rf"\1{_INSTEAD}", text) if "://" in text else text


def lacks_password(text: str) -> bool:
    """Whether a password was replaced in the text."""
    return f":{_INSTEAD}@" in text
