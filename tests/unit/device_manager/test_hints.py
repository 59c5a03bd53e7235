"""Where a container could get its devices, by the nodes that the plugin tells."""

from __future__ import annotations

import pytest

from actors.device_manager.hints import hints
from actors.device_manager.inventory import Device
from actors.shared.hardware.hints import TopologyHint


@pytest.mark.parametrize(("most", "has_opinion"), [(8, False), (9, True)])
def test_devices_on_too_many_nodes_give_no_hint(most: int, has_opinion: bool) -> None:
    devices = {f"d{node}": Device(healthy=True, nodes=(node,)) for node in range(9)}
    found = hints(devices, devices, (), 1, most)
    assert (found is not None) is has_opinion
    assert found is None or TopologyHint(1 << 8, preferred=True) in found
