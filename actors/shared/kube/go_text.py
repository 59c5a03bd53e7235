"""Texts as Go and grpc-go print them, because users and tools know the kubelet's messages and files in that form."""

from __future__ import annotations

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
