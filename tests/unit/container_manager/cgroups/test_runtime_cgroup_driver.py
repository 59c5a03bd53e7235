"""Asking the runtime for its cgroup driver."""

from actors.container_manager.cgroups.runtime_cgroup_driver import ask


def test_a_missing_runtime_times_out_without_a_driver(tmp_path):
    assert ask(f"unix://{tmp_path}/none.sock", 0.3) is None
