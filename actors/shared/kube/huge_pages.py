"""Huge pages as resources, `hugepages-2Mi`, and the kernel's name of their size, `2MB`. Pure."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "hugepages-"


def is_huge_pages(resource: str) -> bool:
    return resource.startswith(PREFIX)


def page_size(resource: str) -> str:
    """The kernel's name for the page size of `hugepages-2Mi`: 2MB."""
    return resource.removeprefix(PREFIX).removesuffix("i") + "B"
