"""Heap fill: occupies every free slot of the heap permanently, before the first fork.

New objects of a process then lie together on private pages. An object in a slot between shared objects would cost a
copy of the page around it. The slots take about a megabyte, once for all processes.

CPython allocates objects of up to 512 bytes itself; larger ones, and what libraries need, are allocated by the C
library, whose free chunks are occupied too where it is glibc.

Switch: `heap_fill` (memory_switches.py). It saves 8 MiB of the whole tree's 150 (PSS, 22 actors, 10 pods, CPython
3.11)."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from typing import Final

from .memory_switches import is_on

_LARGEST: Final = 512
"""Larger objects are allocated by the C library."""
_STEP: Final = 16
_EMPTY_BYTES: Final = b"".__sizeof__()
_ENOUGH: Final = 2
"""When this many consecutive objects of a size lie on new pages, the old pages are full."""
_AT_ONCE: Final = 8
_MOST: Final = 500_000
_CHUNKS: Final = (*range(65536, 4096, -4096), *range(4096, 1024, -256), *range(1024, 16, -_STEP))
"""Sizes of the C library's chunks, the largest first: a smaller one would break up a larger one."""
_MOST_CHUNKS: Final = 50_000
_NEVER_FREE: Final = 100_000
"""Larger than any free chunk, and not so large that it gets a mapping of its own."""


_fillers: Final[list[bytes]] = []


def fill_heap() -> None:
    """Fill the slots and the chunks that are free now, if that is switched on."""
    if is_on("heap_fill"):
        _fillers.extend(fill_slots())
        fill_chunks()


def fill_slots() -> list[bytes]:
    """Fill the slots. Returns the objects in them; the caller keeps these alive."""
    mappings = _AnonymousMappings()
    kept: list[bytes] = []
    for size in range(-(-_EMPTY_BYTES // _STEP) * _STEP, _LARGEST + 1, _STEP):
        length = size - _EMPTY_BYTES
        while len(kept) < _MOST:
            made = [bytes(length) for _ in range(_AT_ONCE)]
            kept += made
            if not any(mappings.contain(id(one)) for one in made[-_ENOUGH:]):
                break
    return kept


def fill_chunks() -> int:
    """Occupy the free chunks of the C library's heap, and never free them. Returns their size in bytes."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return 0
    malloc, free = libc.malloc, libc.free
    malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    free.restype, free.argtypes = None, [ctypes.c_void_p]
    end = _used_end(malloc, free)
    taken = chunks = 0
    for size in _CHUNKS:
        while chunks < _MOST_CHUNKS:
            address = malloc(size)
            if not address or address >= end:
                free(address)
                break
            taken, chunks = taken + size, chunks + 1
    return taken


def _used_end(malloc: ctypes._NamedFuncPointer, free: ctypes._NamedFuncPointer) -> int:
    """The start address of the unused end of the heap: no free chunk of this size lies before it."""
    address = malloc(_NEVER_FREE)
    free(address)
    return int(address or 0)


class _AnonymousMappings:
    """The writable mappings of this process that no file backs, as they are when this is made."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        with open("/proc/self/maps") as maps:
            for line in maps:
                fields = line.split()
                if fields[1].startswith("rw") and len(fields) == 5:
                    start, _, end = fields[0].partition("-")
                    self._starts.append(int(start, 16))
                    self._ends.append(int(end, 16))

    def contain(self, address: int) -> bool:
        at = bisect_right(self._starts, address) - 1
        return at >= 0 and address < self._ends[at]
