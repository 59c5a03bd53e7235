"""Huge pages as resources."""

from __future__ import annotations

import pytest

from actors.shared.kube.huge_pages import is_huge_pages, page_size


@pytest.mark.parametrize(
    ("resource", "size"), [("hugepages-64Ki", "64KB"), ("hugepages-2Mi", "2MB"), ("hugepages-1Gi", "1GB")]
)
def test_a_size_of_huge_pages_has_the_kernels_name(resource: str, size: str):
    assert page_size(resource) == size


def test_huge_pages_are_told_from_memory():
    assert [name for name in ("memory", "hugepages-2Mi", "cpu") if is_huge_pages(name)] == ["hugepages-2Mi"]
