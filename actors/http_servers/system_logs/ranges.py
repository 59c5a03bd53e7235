"""The part of a file that a request asks for (RFC 9110, sections 13 and 14), as Go's http.ServeContent does. Pure."""

from __future__ import annotations

from datetime import datetime
from email.utils import parsedate_to_datetime

from actors.http_servers.serving.http_error import HttpError


class NoSuchRange(HttpError):
    """416: the file does not have that part."""

    def __init__(self, text: str, *, of_size: bool = False) -> None:
        """`of_size`: the answer names the size of the file."""
        super().__init__(416, f"{text}\n")
        self.of_size = of_size


def is_unchanged(since: str, modified: str) -> bool:
    """Whether a file of this Last-Modified is not newer than the If-Modified-Since of the request."""
    asked, last = _time(since), _time(modified)
    return asked is not None and last is not None and last <= asked


def part(wanted: str, size: int) -> tuple[int, int] | None:
    """First byte and number of bytes, by the header Range; None: all of the file. Of several parts the whole file is
    sent, as the standard allows. Raises NoSuchRange."""
    if not wanted:
        return None
    unit, equals, rest = wanted.partition("=")
    if unit != "bytes" or not equals:
        raise NoSuchRange("invalid range")
    texts = [text.strip() for text in rest.split(",") if text.strip()]
    parts = [found for found in (_part(text, size) for text in texts) if found is not None]
    if texts and not parts:
        if not size:
            return None
        raise NoSuchRange("invalid range: failed to overlap", of_size=True)
    return parts[0] if len(parts) == 1 else None


def _part(text: str, size: int) -> tuple[int, int] | None:
    """None: it begins behind the end. Raises NoSuchRange."""
    first, dash, last = (word.strip() for word in text.partition("-"))
    if not dash or not (first or last):
        raise NoSuchRange("invalid range")
    if not first:
        length = min(_number(last), size)
        return size - length, length
    start, end = _number(first), _number(last) if last else size - 1
    if start >= size:
        return None
    if start > end:
        raise NoSuchRange("invalid range")
    return start, min(end, size - 1) + 1 - start


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise NoSuchRange("invalid range")
    return int(text)


def _time(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text) if text.endswith("GMT") else None
    except ValueError:
        return None
