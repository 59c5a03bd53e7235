"""The kernel's pools of huge pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.shared.linux.huge_page_pools import page_sizes, pool_bytes, resource_of


@pytest.fixture
def pools(tmp_path: Path) -> str:
    for name, count in (("hugepages-2048kB", "3"), ("hugepages-1048576kB", "1"), ("hugepages-64kB", "0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nr_hugepages").write_text(f"{count}\n")
    (tmp_path / "hugepages-unknown").mkdir()
    return str(tmp_path)


def test_the_pages_of_each_pool_are_counted_in_bytes(pools: str):
    assert pool_bytes(pools) == {"hugepages-2Mi": 6 << 20, "hugepages-1Gi": 1 << 30, "hugepages-64Ki": 0}


def test_page_sizes_are_listed_from_the_smallest(pools: str):
    assert page_sizes(pools) == [64 << 10, 2 << 20, 1 << 30]


def test_a_kernel_without_huge_pages_has_no_pools(tmp_path: Path):
    assert page_sizes(str(tmp_path / "none")) == []
    assert pool_bytes(str(tmp_path / "none")) == {}


@pytest.mark.parametrize(
    ("size", "resource"), [(64 << 10, "hugepages-64Ki"), (2 << 20, "hugepages-2Mi"), (16 << 30, "hugepages-16Gi")]
)
def test_a_page_size_has_its_resource(size: int, resource: str):
    assert resource_of(size) == resource
