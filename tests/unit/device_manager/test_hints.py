"""Where a container could get its devices, by the nodes that the plugin tells."""

from __future__ import annotations

import pytest

from actors.container_manager.topology.hint_merger import Numa, decide
from actors.device_manager.hints import hints
from actors.device_manager.inventory import Device
from actors.shared.hardware.hints import TopologyHint


@pytest.mark.parametrize(("most", "has_opinion"), [(8, False), (9, True)])
def test_devices_on_too_many_nodes_give_no_hint(most: int, has_opinion: bool) -> None:
    devices = {f"d{node}": Device(healthy=True, nodes=(node,)) for node in range(9)}
    found = hints(devices, devices, (), 1, most)
    assert (found is not None) is has_opinion
    assert found is None or TopologyHint(1 << 8, preferred=True) in found


def test_nodes_that_the_machine_does_not_have_give_no_hint() -> None:
    devices = {"a": Device(nodes=(0,)), "b": Device(nodes=(7,)), "c": Device(nodes=(1, 7))}
    either = [TopologyHint(0b01, preferred=True), TopologyHint(0b10, preferred=True), TopologyHint(0b11, False)]
    assert hints(devices, devices, (), 1, machine=(0, 1)) == either
    assert hints(devices, devices, (), 2, machine=(0, 1)) == [TopologyHint(0b11, preferred=True)]
    assert hints(devices, devices, (), 3, machine=(0, 1)) == []
    assert hints({"b": devices["b"]}, "b", (), 1, machine=(0, 1)) is None


def test_an_earlier_device_on_an_unknown_node_leaves_the_others_their_hints() -> None:
    devices = {"a": Device(nodes=(0,)), "b": Device(nodes=(7,))}
    assert hints(devices, "a", "b", 1, machine=(0, 1)) == [TopologyHint(0b01, True)]


def test_hints_name_only_nodes_that_have_devices() -> None:
    devices = {"a": Device(nodes=(1,)), "b": Device(nodes=(3,)), "c": Device()}
    found = hints(devices, ("a", "c"), (), 1, machine=tuple(range(36)))
    assert found == [TopologyHint(0b0010, preferred=True), TopologyHint(0b1010, preferred=False)]
    assert hints(devices, ("a", "c"), (), 2, machine=tuple(range(36))) == []


def test_a_container_has_its_device_first_when_its_cpus_need_more_nodes() -> None:
    devices = {"a": Device(nodes=(0,))}
    cpus = [TopologyHint(0b011, preferred=True), TopologyHint(0b111, preferred=False)]
    found = decide(
        "best-effort", Numa((0, 1, 2)), [{"v/x": hints(devices, "a", (), 1, machine=(0, 1, 2))}, {"cpu": cpus}]
    )
    assert found.affinity == TopologyHint(0b001, preferred=False)


def test_the_hints_of_many_devices_are_those_of_few_kinds_of_them() -> None:
    devices = {f"d{number}": Device(nodes=(number % 8,)) for number in range(8000)}
    found = hints(devices, devices, (), 1000, machine=tuple(range(8)))
    assert found is not None
    assert [one.mask for one in found if one.preferred] == [1 << node for node in range(8)]
