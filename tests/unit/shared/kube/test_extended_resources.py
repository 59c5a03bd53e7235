"""What an extended resource is called."""

from __future__ import annotations

import pytest

from actors.shared.kube.extended_resources import is_extended


@pytest.mark.parametrize("name", ["vendor.com/gpu", "a/b", "vendor.com/GPU_x.1", "x/" + "y" * 63, "v" * 244 + "/x"])
def test_a_name_with_a_domain_of_its_own_is_one(name: str) -> None:
    assert is_extended(name)


@pytest.mark.parametrize(
    "name",
    ["cpu", "hugepages-2Mi", "kubernetes.io/x", "foo.kubernetes.io/x", "requests.vendor.com/gpu", "vendor.com/", "/x",
     "Vendor.com/x", "vendor.com/a/b", "vendor..com/x", "vendor.com/-x", "x/" + "y" * 64, "v" * 245 + "/x", "a/b\n"],
)  # fmt: skip
def test_any_other_name_is_none(name: str) -> None:
    assert not is_extended(name)
