"""The status line and the header of a response, read as tolerantly as by Go's client, with the same errors: lines may
end without a carriage return, as from small servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from actors.shared.kube.go_text import quoted

from .dialer import READ_LIMIT_BYTES
from .errors import ExchangeError
from .response_bytes import ResponseBytes

_BROKEN: Final = "net/http: HTTP/1.x transport connection broken: "
_MOST_INTERIM: Final = 10
_VERSION: Final = re.compile(r"HTTP/[0-9]\.[0-9]")
_END: Final = re.compile(rb"\n\r?\n")
_BLANKS: Final = " \t"
_LENGTH_DIGITS: Final = 19
"""The digits of the largest 64-bit number."""


class ResponseHead(NamedTuple):
    status: int
    fields: dict[str, str]
    """The first value of each name, names in lower case."""


async def read_head(received: ResponseBytes) -> ResponseHead:
    """Interim responses (1xx) are skipped. Raises ExchangeError; OSError when the connection is lost."""
    for number in range(_MOST_INTERIM):
        lines = await _lines(received, first=number == 0)
        status = _status(lines[0])
        if not 100 <= status < 200 or status == 101:
            return ResponseHead(status, _checked(status, _fields(lines[1:])))
    raise ExchangeError(f"{_BROKEN}too many 1xx informational responses")


async def _lines(received: ResponseBytes, *, first: bool) -> list[str]:
    """The lines up to the empty line. `first`: they are the first of the connection."""
    seen = 0
    while True:
        end = _END.search(received.held, max(0, seen - 2))
        seen = len(received.held)
        if (end.end() if end is not None else seen) > READ_LIMIT_BYTES:
            raise ExchangeError(f"net/http: server response headers exceeded {READ_LIMIT_BYTES} bytes; aborted")
        if end is not None:
            text = received.take(end.end()).decode("latin-1")
            return [line.removesuffix("\r") for line in text.split("\n")[:-2]]
        if not await received.more():
            break
    partial = received.held.decode("latin-1")
    if partial and "\n" not in partial:
        _status(partial)  # this line may be the error
    raise ExchangeError("EOF" if first and not partial else f"{_BROKEN}unexpected EOF")


def _status(line: str) -> int:
    version, space, rest = line.partition(" ")
    code = rest.lstrip(" ").partition(" ")[0]
    if not space:
        raise _malformed("HTTP response", line)
    if len(code) != 3 or not code.isascii() or not code.isdigit():
        raise _malformed("HTTP status code", code)
    if not _VERSION.fullmatch(version):
        raise _malformed("HTTP version", version)
    return int(code)


def _fields(lines: list[str]) -> dict[str, list[str]]:
    """The values by name in lower case. A continuation line starts with a blank and belongs to the previous line."""
    whole: list[str] = []
    for line in lines:
        if line[0] not in _BLANKS:
            whole.append(line)
        elif whole:
            whole[-1] = f"{whole[-1].rstrip(_BLANKS)} {line.strip(_BLANKS)}"
        else:
            raise ExchangeError(f"{_BROKEN}malformed MIME header initial line: {line[:60]}")
    found: dict[str, list[str]] = {}
    for line in whole:
        name, colon, value = line.partition(":")
        if not colon:
            raise _malformed("MIME header: missing colon:", line)
        found.setdefault(name.strip().lower(), []).append(value.strip())
    return found


def _checked(status: int, fields: Mapping[str, list[str]]) -> dict[str, str]:
    """The first value of each field. The length of the body must be one number (RFC 9112, section 6.3): otherwise the
    client and a proxy may disagree on where the response ends. Raises ExchangeError."""
    lengths = fields.get("content-length", [])
    if len(set(lengths)) > 1:
        given = " ".join(map(quoted, lengths))
        raise ExchangeError(f"{_BROKEN}http: message cannot contain multiple Content-Length headers; got [{given}]")
    chunked = fields.get("transfer-encoding", [""])[0].lower() == "chunked"
    if lengths and not chunked and status not in (101, 204, 304) and not _is_length(lengths[0]):
        raise ExchangeError(f"{_BROKEN}bad Content-Length {quoted(lengths[0])}")
    return {name: values[0] for name, values in fields.items()}


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text[:_LENGTH_DIGITS]) < 1 << 63 and len(text) <= _LENGTH_DIGITS


def _malformed(what: str, text: str) -> ExchangeError:
    return ExchangeError(f"{_BROKEN}malformed {what} {quoted(text[:60])}")
