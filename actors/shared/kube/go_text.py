"""Texts as Go and grpc-go print them, because users and tools know the kubelet's messages and files in that form."""

from __future__ import annotations

import re
from typing import Final

UNREADABLE: Final = "the answer cannot be read"
"""Details of an INTERNAL error for an answer that is not a valid message; Python's gRPC returns None for it."""

_ESCAPES: Final = {
    "\\": "\\\\", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def quoted(text: str) -> str:
    """A text in double quotes, with the escapes of Go's %q. Bytes that were no UTF-8 are read with surrogateescape."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_ESCAPES.get(one) or (one if one.isprintable() else _code(one)) for one in text) + '"'


def _code(character: str) -> str:
    number = ord(character)
    byte = number - 0xDC00 if 0xDC80 <= number <= 0xDCFF else number
    if number != byte or number < 0x20 or number == 0x7F:
        return f"\\x{byte:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def code_name(code: str) -> str:
    """`NotFound`. `code`: the name of gRPC, NOT_FOUND."""
    special = {"OK": "OK", "CANCELLED": "Canceled"}
    return special.get(code) or "".join(word.capitalize() for word in code.split("_"))


def rpc_error(code: str, details: str) -> str:
    """`rpc error: code = NotFound desc = ...`. `code`: the name of gRPC, NOT_FOUND."""
    return f"rpc error: code = {code_name(code)} desc = {details}"


def client_details(details: str) -> str:
    """Details of a gRPC error as grpc-go's client writes them, where Python's client wrote them itself; a server's stay
    as they are."""
    text = unwrapped(details)
    if text in _OF_CLIENT:
        return _OF_CLIENT[text]
    if found := _TOO_LARGE.fullmatch(text):
        return f"grpc: received message larger than max ({found[1]})"
    if found := _UNIX.fullmatch(text):
        dialed = f"dial unix {found[1]}: connect: {found[2].lower()}"
    elif found := _TCP.fullmatch(text):
        dialed = f"dial tcp {found[1]}: connect: {found[2].lower()}"
    else:
        return text
    return f'connection error: desc = "transport: Error while dialing: {dialed}"'


def unwrapped(details: str) -> str:
    """Without what Python's client adds to details of a call that it had sent already."""
    found = _REMOVED.fullmatch(details)
    return found[1] if found else details


_REMOVED: Final = re.compile(r"Stream removed \((.*)\)", re.DOTALL)
_OF_CLIENT: Final = {
    "Deadline Exceeded": "context deadline exceeded",
    "Socket closed": "error reading from server: EOF",
    "recvmsg:Connection reset by peer (104)": "error reading from server: connection reset by peer",
}
_TOO_LARGE: Final = re.compile(r"CLIENT: Received message larger than max \((\d+ vs\. \d+)\)")
_NO_CONNECTION: Final = r"failed to connect to all addresses; last error: \w+: "
_UNIX: Final = re.compile(_NO_CONNECTION + r"unix:(.*?): .*error: ([^:]+)")
_TCP: Final = re.compile(_NO_CONNECTION + r"ipv[46]:(.*?): .*: ([^:]+)")
