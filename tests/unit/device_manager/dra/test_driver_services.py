"""Which services of a driver are used."""

from __future__ import annotations

import pytest

from actors.device_manager.dra.driver_services import DriverService, ServiceError, choose


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["v1beta1.DRAPlugin", "v1.DRAPlugin"], DriverService("v1")),
        (["v1beta1.DRAPlugin"], DriverService("v1beta1")),
        (["v1.DRAPlugin", "v1alpha1.DRAResourceHealth"], DriverService("v1", "v1alpha1")),
        (["v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth", "v1.DRAPlugin"], DriverService("v1", "v1")),
    ],
)
def test_the_newest_service_is_used(offered: list[str], chosen: DriverService) -> None:
    assert choose(offered) == chosen


@pytest.mark.parametrize(
    ("offered", "text"),
    [
        ([], "empty list of supported gRPC services (aka supported versions)"),
        (
            ["1.0.0", "v1.DRAResourceHealth"],
            'none of services supported by the plugin (["1.0.0" "v1.DRAResourceHealth"]) are supported by the kubelet '
            '(["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
        ),
    ],
)
def test_a_driver_without_a_supported_service_is_an_error(offered: list[str], text: str) -> None:
    with pytest.raises(ServiceError) as error:
        choose(offered)
    assert text in str(error.value)
