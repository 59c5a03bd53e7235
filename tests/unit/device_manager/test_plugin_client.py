"""What a plugin's answer to Allocate gives the container."""

from __future__ import annotations

from typing import Any

import pytest

from actors.device_manager.plugin_client import allocation_of
from proto import device_plugin_pb2 as api

NAMED = [api.CDIDevice(name="vendor.test/thing=0")]


@pytest.mark.parametrize(
    ("fields", "only"),
    [
        ({"cdi_devices": NAMED}, True),
        ({"cdi_devices": NAMED, "annotations": {"cdi.k8s.io/thing": "vendor.test/thing=0"}}, True),
        ({"cdi_devices": NAMED, "envs": {"VISIBLE_DEVICES": "0"}}, False),
        ({"cdi_devices": NAMED, "devices": [api.DeviceSpec(host_path="/dev/null", container_path="/dev/a")]}, False),
        ({"cdi_devices": NAMED, "mounts": [api.Mount(host_path="/a", container_path="/a")]}, False),
        ({"envs": {"VISIBLE_DEVICES": "0"}}, False),
    ],
)
def test_a_device_without_other_fields_is_cdi_only(fields: dict[str, Any], only: bool) -> None:
    found = allocation_of(api.ContainerAllocateResponse(**fields).SerializeToString())
    assert found.only_cdi is only
    assert found.cdi_devices == tuple(one.name for one in fields.get("cdi_devices", ()))
