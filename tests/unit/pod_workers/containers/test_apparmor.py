"""Whether the kernel has AppArmor."""

from __future__ import annotations

import pytest

from actors.pod_workers.containers.apparmor import read_apparmor


@pytest.mark.parametrize(("content", "enabled"), [("Y\n", True), ("N\n", False), ("", False), (None, False)])
def test_apparmor_is_on_when_the_kernel_reports_it(tmp_path, content, enabled):
    if content is not None:
        (tmp_path / "enabled").write_text(content)
    assert read_apparmor(f"{tmp_path}/enabled") == enabled
