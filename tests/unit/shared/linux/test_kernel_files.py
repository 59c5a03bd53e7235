from __future__ import annotations

from pathlib import Path

import pytest

from actors.shared.linux import kernel_files


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_the_facts_of_a_host_are_read(tmp_path: Path) -> None:
    write(tmp_path, "proc/sys/kernel/random/boot_id", "b-1\n")
    write(tmp_path, "sys/devices/system/cpu/online", "0-1,4\n")
    write(tmp_path, "sys/fs/selinux/enforce", "0")
    write(tmp_path, "sys/fs/cgroup/cgroup.controllers", "cpu\n")
    root = str(tmp_path)
    assert kernel_files.boot_id(root) == "b-1"
    assert kernel_files.online_cpus(root) == kernel_files.listed_cpus(root) == frozenset({0, 1, 4})
    assert kernel_files.has_selinux(root)
    assert kernel_files.has_cgroup_v2(root)


def test_a_host_without_these_files_has_none_of_the_facts(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert kernel_files.boot_id(root) == ""
    assert kernel_files.listed_cpus(root) is None
    with pytest.raises(FileNotFoundError):
        kernel_files.online_cpus(root)
    assert not kernel_files.has_selinux(root)
    assert not kernel_files.has_cgroup_v2(root)


@pytest.mark.parametrize("text", ["x", "3-1", "\u0663"])
def test_a_list_of_cpus_that_is_none_is_not_known(tmp_path: Path, text: str) -> None:
    write(tmp_path, "sys/devices/system/cpu/online", text)
    assert kernel_files.listed_cpus(str(tmp_path)) is None


def test_a_hybrid_host_counts_as_cgroup_v1(tmp_path: Path) -> None:
    write(tmp_path, "sys/fs/cgroup/unified/cgroup.controllers", "cpu\n")
    assert not kernel_files.has_cgroup_v2(str(tmp_path))
