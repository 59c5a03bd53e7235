"""What is read off a machine, from texts of the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_runtime import host as looking
from actors.container_runtime.errors import MissingPrograms, ProgramFailed
from actors.container_runtime.host import (
    can_overlay,
    has_hugetlb,
    look,
    mtu_of_default_route,
    parse_version,
    routed_networks,
)
from actors.shared.linux.mountinfo import parse

ROUTES = """Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
br0\t0000400A\t00000000\t0001\t0\t0\t0\t00FCFFFF\t0\t0\t0
"""
HYBRID = parse(
    b"1 0 8:1 / / rw - ext4 /dev/vda rw\n"
    b"2 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    b"3 1 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    b"4 1 0:40 / /box rw - overlay overlay rw,lowerdir=/a\n"
)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n", (1, 6)),
        ("containerd github.com/containerd/containerd v1.7.24 abc\n", (1, 7)),
        ("containerd github.com/containerd/containerd/v2 2.1.9~ds1 \n", (2, 1)),
    ],
)
def test_the_version_is_parsed_from_the_output_of_containerd(text: str, version: tuple[int, int]) -> None:
    assert parse_version(text) == version


def test_a_containerd_without_a_version_is_refused() -> None:
    with pytest.raises(ProgramFailed, match="which has no version"):
        parse_version("Segmentation fault")


def test_networks_with_a_route_are_those_of_the_table_without_the_default_route() -> None:
    assert [network for _, network in routed_networks(ROUTES)] == ["192.0.2.0/24", "10.64.0.0/22"]
    assert all(interface in ROUTES for interface, _ in routed_networks(ROUTES))
    assert list(routed_networks("")) == []


def test_the_mtu_of_pods_is_that_of_the_first_default_route(tmp_path: Path) -> None:
    for name, mtu in (("eth0", "9001\n"), ("br0", "1450\n"), ("wlan0", "1280\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mtu").write_text(mtu)
    head, default, *networks = ROUTES.splitlines()
    lower_half = "br0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0"
    second = default.replace("eth0", "wlan0").replace("\t0003\t0\t0\t0", "\t0003\t0\t0\t600")
    assert mtu_of_default_route("\n".join((head, *networks, lower_half, default, second)), str(tmp_path)) == 9001
    assert mtu_of_default_route("\n".join((head, *networks, lower_half)), str(tmp_path)) == 1500
    assert mtu_of_default_route(ROUTES.replace("eth0", "gone0"), str(tmp_path)) == 1500


def test_hugetlb_counts_only_where_runc_looks_for_it() -> None:
    assert not has_hugetlb(HYBRID, frozenset())
    assert has_hugetlb(HYBRID, frozenset({"cpu", "hugetlb"}))
    assert has_hugetlb(parse(b"2 1 0:30 / /sys/fs/cgroup/hugetlb rw - cgroup cgroup rw,hugetlb\n"), frozenset())


def test_overlayfs_is_not_used_on_an_overlay() -> None:
    known = "nodev\toverlay\n\text4\n"
    assert can_overlay(HYBRID, known, "/var/lib/agent")
    assert not can_overlay(HYBRID, known, "/box/var/lib/agent")
    assert not can_overlay(HYBRID, "\text4\n", "/var/lib/agent")


def test_all_that_is_missing_is_reported_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "SEARCH_PATH", str(tmp_path))
    monkeypatch.setattr(looking, "_PLUGIN_DIRS", (str(tmp_path),))
    with pytest.raises(MissingPrograms) as raised:
        look("/")
    assert {"containerd", "ctr", "runc", "iptables", "ip", "CNI plug-ins"} <= set(raised.value.programs)
    assert "apt-get install" in str(raised.value)
    assert "containernetworking-plugins" in str(raised.value)
    assert "--container-runtime-endpoint" in str(raised.value)
