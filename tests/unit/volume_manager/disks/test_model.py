"""Names and places of disks: those of the kubelet, from which a disk can be found again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.volume_manager.disks.model import (
    FcDisk,
    IscsiDisk,
    UnusableDiskError,
    checked,
    disk_at,
    fc_name,
    iscsi_name,
    with_port,
)

IQN = "iqn.2003-01.org.example:storage.disk1"


def iscsi(**more) -> IscsiDisk:
    return IscsiDisk(**{"portals": ["10.0.0.1:3260"], "iqn": IQN, "lun": 0, "volume": "pv", **more})


def test_the_places_are_those_of_the_kubelet():
    disk = f"10.0.0.1:3260-{IQN}-lun-0"
    assert iscsi().place == f"kubernetes.io/iscsi/iface-default/{disk}"
    assert iscsi(block=True).place == f"kubernetes.io/iscsi/volumeDevices/iface-default/{disk}"
    own = iscsi(initiator="iqn.2003-01.org.example:node")
    assert own.interface == "10.0.0.1:3260:pv"
    assert own.place == f"kubernetes.io/iscsi/iface-10.0.0.1:3260:pv/{disk}"
    assert FcDisk(wwns=["50060e80", "500a0982"], lun=2).place == "kubernetes.io/fc/50060e80-500a0982-lun-2"
    assert FcDisk(wwids=["3600508b4"], block=True).place == "kubernetes.io/fc/volumeDevices/3600508b4"


def test_the_names_in_the_nodes_status_are_those_of_the_attach_controller():
    assert iscsi_name("10.0.0.1", IQN, 3) == f"kubernetes.io/iscsi/10.0.0.1:{IQN}:3"
    assert fc_name(["a", "b"], 1, []) == "kubernetes.io/fc/[a b]:1"
    assert fc_name([], 0, ["3600 508", "x"]) == "kubernetes.io/fc/[3600 508 x]"


def test_a_portal_without_a_port_has_that_of_iscsi():
    assert with_port("10.0.0.1") == "10.0.0.1:3260"
    assert with_port("10.0.0.1:860") == "10.0.0.1:860"
    assert with_port("[fd00::1]") == "[fd00::1]"


ADDRESSES = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]:3260"),
    st.from_regex(r"[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,5})?\.example", fullmatch=True),
)
QUALIFIED = st.one_of(
    st.from_regex(r"iqn\.[0-9]{4}-[0-9]{2}\.[a-z0-9.-]{1,20}:[a-z0-9.:-]{1,20}", fullmatch=True),
    st.from_regex(r"eui\.[0-9A-F]{16}", fullmatch=True),
    st.from_regex(r"naa\.[0-9a-f]{32}", fullmatch=True),
)


@given(
    portal=ADDRESSES.map(with_port),
    iqn=QUALIFIED,
    lun=st.integers(0, 255),
    interface=st.from_regex(r"[a-z][a-z0-9.:_-]{0,10}", fullmatch=True),
    block=st.booleans(),
)
def test_a_disk_of_iscsi_is_found_again_by_its_place(portal, iqn, lun, interface, block):
    disk = IscsiDisk(portals=[portal], iqn=iqn, lun=lun, original=interface, block=block)
    assert checked(disk) == disk
    assert disk_at(disk.place) == disk


@given(
    wwns=st.lists(st.from_regex(r"[0-9a-f]{16}", fullmatch=True), min_size=1, max_size=3),
    lun=st.integers(0, 255),
    block=st.booleans(),
)
def test_a_disk_of_fibre_channel_is_found_again_by_its_place(wwns, lun, block):
    disk = FcDisk(wwns=wwns, lun=lun, block=block)
    assert disk_at(checked(disk).place) == disk
    other = FcDisk(wwids=[f"3{wwn}" for wwn in wwns], block=block)
    assert disk_at(checked(other).place) == other


@given(st.text(max_size=60))
def test_no_place_is_too_strange_to_be_read(text):
    for place in (
        text,
        f"kubernetes.io/iscsi/{text}",
        f"kubernetes.io/iscsi/iface-x/{text}",
        f"kubernetes.io/fc/{text}",
    ):
        found = disk_at(place)
        assert found is None or found.place


@pytest.mark.parametrize(
    ("disk", "text"),
    [
        (iscsi(portals=["../x:1"]), "portal '../x:1' is no address"),
        (iscsi(portals=["-x:1"]), "is no address"),
        (iscsi(portals=["10.0.0.1:3260", "a b"]), "portal 'a b' is no address"),
        (iscsi(iqn="iqn.2003-01.a:/../../etc"), "is no name of the form iqn, eui or naa"),
        (iscsi(initiator="x"), "'x' is no name of the form"),
        (iscsi(original="../default"), "is no name of an interface"),
        (iscsi(original=""), "is no name of an interface"),
        (iscsi(iqn="iqn.2003-01.a:" + "x" * 240), "is too long for the name of a directory"),
        (FcDisk(), "no fc disk information found"),
        (FcDisk(wwns=["a/b"]), "targetWWN 'a/b' is none"),
        (FcDisk(wwids=[".."]), "wwid '..' is none"),
        (FcDisk(wwids=["x" * 300]), "too long"),
    ],
)
def test_what_could_be_another_path_or_an_option_is_refused(disk, text):
    with pytest.raises(UnusableDiskError, match=text.replace("(", r"\(")):
        checked(disk)


def test_a_place_of_something_else_is_no_disk():
    for place in (
        "kubernetes.io/csi/x",
        "kubernetes.io/iscsi/iface-default",
        "kubernetes.io/fc/",
        "kubernetes.io/fc/a/b",
    ):
        assert disk_at(place) is None
