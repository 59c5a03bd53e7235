"""Asking the runtime for its cgroup driver."""

import pytest

from actors.container_manager.cgroups.runtime_cgroup_driver import NoRuntimeAnswer, ask


def test_a_missing_runtime_times_out_without_a_driver(tmp_path):
    with pytest.raises(NoRuntimeAnswer):
        ask(f"unix://{tmp_path}/none.sock", 0.3)
