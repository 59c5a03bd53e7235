"""Whether a container runtime answers, and its name: the CRI call Version, without a gRPC library.

A small process makes this call every few seconds; loading gRPC would cost a hundred times as much as the call. So this
module builds the HTTP/2 frames of the request itself (RFC 9113; headers as HPACK literals, RFC 7541 6.2.2)."""

from __future__ import annotations

import socket
import struct
import time
from typing import Final

from supervision.spec import ProgramAnswer
from supervision.time_scale import scaled

from .program_log import without_cri

CONNECT_SECONDS: Final = 2.0
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS = 0x0, 0x1, 0x4
_END_STREAM, _END_HEADERS = 0x1, 0x4
_STREAM: Final = 1
_HEAD: Final = struct.Struct("!BHBBI")
_EMPTY_MESSAGE: Final = bytes(5)
"""gRPC's prefix of an empty message: VersionRequest needs no content."""
_RUNTIME_NAME: Final = 2
"""The field of VersionResponse."""
_LENGTH_DELIMITED: Final = 2


_UNIMPLEMENTED: Final = tuple(
    name + b"\x0212" for name in (b"\x0bgrpc-status", b"\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f")
)
"""The header grpc-status: 12, with its name literal and Huffman-coded (RFC 7541 appendix B). The value `12` is never
Huffman-coded, because that is not shorter."""


def answers(path: str, seconds: float = CONNECT_SECONDS) -> bool:
    """Whether a server at this Unix socket answers Version within `seconds`, with any result."""
    return _ask(path, seconds) is not None


def probe(path: str, log_file: str = "", seconds: float = CONNECT_SECONDS) -> ProgramAnswer:
    """The answer of the runtime at this Unix socket. It is not serving without CRI; why, as far as its log tells.

    containerd runs without CRI if its CRI plug-in is turned off or failed at its start, for example without a free
    inotify instance; it loads the plug-in only at the next start."""
    headers = _ask(path, seconds)
    if headers is None:
        return ProgramAnswer(answered=False)
    without = any(each in headers for each in _UNIMPLEMENTED)
    return ProgramAnswer(True, f"it answers without CRI: {without_cri(log_file)}" if without else "")


def name(path: str, seconds: float = CONNECT_SECONDS) -> str:
    """The runtime's own name, such as `containerd`; empty without an answer."""
    answer = _call(path, seconds)
    return _text_field(answer[1][len(_EMPTY_MESSAGE) :], _RUNTIME_NAME) if answer is not None else ""


def _ask(path: str, seconds: float) -> bytes | None:
    """The headers of the answer to Version, as far as they were sent before its data; None: there is none."""
    answer = _call(path, seconds)
    return answer[0] if answer is not None else None


def _call(path: str, seconds: float) -> tuple[bytes, bytes] | None:
    """The headers, and the first frame of data."""
    seconds = scaled(seconds)
    end = time.monotonic() + seconds
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(seconds)
            sock.connect(path)
            sock.sendall(_request())
            return _await_answer(sock, end)
    except OSError:
        return None


def _request() -> bytes:
    headers = (
        b"\x83\x86"  # :method POST, :scheme http
        + _literal(b"\x04", b"/runtime.v1.RuntimeService/Version")  # :path
        + _literal(b"\x01", b"localhost")  # :authority
        + _literal(b"\x0f\x10", b"application/grpc")  # content-type
        + b"\x00" + _text(b"te") + _text(b"trailers")
    )  # fmt: skip
    return (
        _PREFACE
        + _frame(_SETTINGS, 0, 0, b"")
        + _frame(_HEADERS, _END_HEADERS, _STREAM, headers)
        + _frame(_DATA, _END_STREAM, _STREAM, _EMPTY_MESSAGE)
    )


def _text(value: bytes) -> bytes:
    return bytes([len(value)]) + value


def _literal(name: bytes, value: bytes) -> bytes:
    """A header whose name is in the static table: `name` is that index, encoded."""
    return name + _text(value)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return _HEAD.pack(len(payload) >> 16, len(payload) & 0xFFFF, kind, flags, stream) + payload


def _text_field(message: bytes, number: int) -> str:
    """A field of a protobuf message with nothing but texts of fewer than 128 bytes; empty if it is not there."""
    while len(message) >= 2:
        tag, size = message[0], message[1]
        if tag & 7 != _LENGTH_DELIMITED or size > 127:
            break
        if tag >> 3 == number:
            return message[2 : 2 + size].decode(errors="replace")
        message = message[2 + size :]
    return ""


def _await_answer(sock: socket.socket, end: float) -> tuple[bytes, bytes] | None:
    """Read frames until the call's data or end (an error is an answer too). Returns the headers and that data; None
    without an answer."""
    data, headers = b"", b""
    while (remaining := end - time.monotonic()) > 0:
        sock.settimeout(remaining)
        got = sock.recv(65536)
        if not got:
            return None
        data += got
        while len(data) >= _HEAD.size:
            high, low, kind, flags, stream = _HEAD.unpack_from(data)
            size = _HEAD.size + (high << 16 | low)
            if len(data) < size:
                break
            payload, data = data[_HEAD.size : size], data[size:]
            if stream == _STREAM and kind == _HEADERS:
                headers += payload
            if stream == _STREAM and (kind == _DATA or (kind == _HEADERS and flags & _END_STREAM)):
                return headers, payload if kind == _DATA else b""
    return None
