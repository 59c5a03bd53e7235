"""Names of cgroups with either driver."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.linux.cgroup_names import CgroupNameError, join, parse_root, path_of, plain_path, slice_of, unescaped

POD = ("kubepods", "burstable", "pod1234-ab")
parts = st.lists(st.text("abcz019-", min_size=1, max_size=8), min_size=1, max_size=4).map(tuple)


def test_cgroupfs_names_are_paths():
    assert path_of(POD, "cgroupfs") == "/kubepods/burstable/pod1234-ab"
    assert path_of((), "cgroupfs") == "/"


def test_systemd_names_are_nested_slices_with_dashes_escaped():
    assert path_of(POD, "systemd") == ("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_ab.slice")
    assert slice_of(POD) == "kubepods-burstable-pod1234_ab.slice"
    assert slice_of(()) == "-.slice"


def test_the_root_of_the_tree_may_be_given_as_a_path_or_as_a_slice():
    assert parse_root("/", "cgroupfs") == ()
    assert parse_root("/agents/one", "cgroupfs") == ("agents", "one")
    assert parse_root("/agents.slice/agents-one.slice", "systemd") == ("agents", "one")
    assert parse_root("/agents/one", "systemd") == ("agents", "one")


@pytest.mark.parametrize("part", ["", ".", "..", "a/b", "a\0", "a\n"])
def test_a_part_that_means_another_place_is_refused(part):
    with pytest.raises(CgroupNameError):
        join(("kubepods",), part)


@given(parts)
def test_the_cgroup_name_is_parsed_from_the_directory_of_its_slice(name):
    directory = path_of(name, "systemd").rpartition("/")[2]

    assert unescaped([directory], "systemd") == [name[-1]]
    assert parse_root(path_of(name, "systemd"), "systemd") == name


def test_an_explicit_cgroup_name_stays_unchanged():
    assert plain_path("/system.slice/containerd.service") == "/system.slice/containerd.service"
    assert plain_path("system//slice/") == "/system/slice"
    with pytest.raises(CgroupNameError):
        plain_path("/a/../b")
