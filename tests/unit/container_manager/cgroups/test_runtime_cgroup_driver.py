"""Asking the runtime for its cgroup driver."""

from actors.container_manager.cgroups.runtime_cgroup_driver import ask


def test_a_runtime_that_is_not_there_tells_nothing_and_is_not_waited_for_longer_than_asked(tmp_path):
    assert ask(f"unix://{tmp_path}/none.sock", 0.3) is None
