"""The kernel's pools of huge pages, one for each page size (hugetlbpage.rst in the kernel's admin guide)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from actors.shared.kube.huge_pages import PREFIX
from actors.shared.kube.quantity_text import binary

SYSTEM_POOLS: Final = "/sys/kernel/mm/hugepages"
"""The pools of the whole machine. A NUMA node has its own in the directory `hugepages` of the node."""
_POOL: Final = re.compile(r"hugepages-([0-9]+)kB\Z", re.ASCII)


def page_sizes(directory: str) -> list[int]:
    """The page sizes that have a pool, in bytes, the smallest first; none if there is no such directory."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted(int(match[1]) * 1024 for name in names if (match := _POOL.match(name)))


def pool_bytes(directory: str) -> dict[str, int]:
    """The bytes of all pages of each pool, by resource, `hugepages-2Mi`. Raises OSError."""
    return {resource_of(size): size * _count(directory, size) for size in page_sizes(directory)}


def resource_of(page_size: int) -> str:
    """The resource of pages of this many bytes: `hugepages-2Mi` of 2097152."""
    return PREFIX + binary(page_size)


def _count(directory: str, size: int) -> int:
    return int(Path(directory, f"hugepages-{size // 1024}kB", "nr_hugepages").read_text("ascii"))
