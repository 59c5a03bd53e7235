"""The program of the sandbox image: pid 1 of a pod, which waits, reaps orphans, and ends on a signal.

Assembled here, so that a sandbox costs a few kilobytes and no image has to be fetched. It blocks all signals (a blocked
one is never discarded, not even for pid 1) and takes them one by one with sigtimedwait(2).
"""

from __future__ import annotations

import struct
from typing import Final

_BASE: Final = 0x400000
_ELF_HEADER: Final = 64
_PROGRAM_HEADER: Final = 56
_START: Final = _ELF_HEADER + _PROGRAM_HEADER
_X86_64: Final = 62
_EXECUTABLE: Final = 2
_LOAD: Final = 1
_READ_EXECUTE: Final = 5

_SYSCALL: Final = b"\x0f\x05"
_SIGNALS_8_BYTES: Final = b"\x41\xba\x08\0\0\0"  # mov r10d, 8


class _Assembler:
    """Bytes with labels: jumps and addresses are filled in at the end, all relative with 32 bits."""

    def __init__(self) -> None:
        self._code = bytearray()
        self._labels: dict[str, int] = {}
        self._fixups: list[tuple[int, str]] = []

    def label(self, name: str) -> None:
        self._labels[name] = len(self._code)

    def code(self, *parts: bytes) -> None:
        self._code.extend(b"".join(parts))

    def to(self, opcode: bytes, label: str) -> None:
        """An instruction whose last operand is the distance to `label`."""
        self._code.extend(opcode)
        self._fixups.append((len(self._code), label))
        self._code.extend(bytes(4))

    def done(self) -> bytes:
        for fixup, label in self._fixups:
            struct.pack_into("<i", self._code, fixup, self._labels[label] - (fixup + 4))
        return bytes(self._code)


def x86_64() -> bytes:
    """A static ELF executable: ends with 0 on SIGTERM or SIGINT, reaps on SIGCHLD, sleeps through all else."""
    code = _program()
    size = _START + len(code)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack(
        "<HHIQQQIHHHHHH", _EXECUTABLE, _X86_64, 1, _BASE + _START, _ELF_HEADER, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", _LOAD, _READ_EXECUTE, 0, _BASE, _BASE, size, size, 0x1000)
    return header + segment + code


def _program() -> bytes:
    out = _Assembler()
    out.code(b"\xb8\x0e\0\0\0", b"\x31\xff")  # mov eax, 14 (rt_sigprocmask); xor edi, edi (SIG_BLOCK)
    out.to(b"\x48\x8d\x35", "all")  # lea rsi, [all]
    out.code(b"\x31\xd2", _SIGNALS_8_BYTES, _SYSCALL)  # xor edx, edx
    out.label("wait")
    out.code(b"\xb8\x80\0\0\0")  # mov eax, 128 (rt_sigtimedwait)
    out.to(b"\x48\x8d\x3d", "all")  # lea rdi, [all]
    out.code(b"\x31\xf6", b"\x31\xd2", _SIGNALS_8_BYTES, _SYSCALL)  # no siginfo, no timeout
    out.code(b"\x83\xf8\x11")  # cmp eax, 17 (SIGCHLD)
    out.to(b"\x0f\x84", "reap")
    out.code(b"\x83\xf8\x0f")  # cmp eax, 15 (SIGTERM)
    out.to(b"\x0f\x84", "end")
    out.code(b"\x83\xf8\x02")  # cmp eax, 2 (SIGINT)
    out.to(b"\x0f\x85", "wait")
    out.label("end")
    out.code(b"\xb8\xe7\0\0\0", b"\x31\xff", _SYSCALL)  # exit_group(0)
    out.label("reap")
    out.code(b"\xb8\x3d\0\0\0", b"\xbf\xff\xff\xff\xff", b"\x31\xf6")  # mov eax, 61 (wait4); edi = -1; no status
    out.code(b"\xba\x01\0\0\0", b"\x45\x31\xd2", _SYSCALL)  # WNOHANG; no rusage
    out.code(b"\x85\xc0")  # test eax, eax
    out.to(b"\x0f\x8f", "reap")
    out.to(b"\xe9", "wait")
    out.label("all")
    out.code(b"\xff" * 8)
    return out.done()
