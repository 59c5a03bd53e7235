"""Which driver serves when several sockets name it."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.shared.plugins.model import CSI, Plugin, PluginError
from actors.volume_manager.csi.connection import CsiConnection
from actors.volume_manager.csi.drivers import CsiDrivers, highest_version
from actors.volume_manager.csi.errors import CsiError
from actors.volume_manager.csi.model import Driver
from actors.volume_manager.csi.node_objects import NodeObjects
from supervision.actor import Actor

NAME = "d.test"
HIGHER = "Another driver with the same name is already registered with a higher supported version"


class Neighbours:
    """The actor, the connections to drivers, and the cluster's objects of them."""

    def __init__(self) -> None:
        self.log = logging.getLogger("drivers")
        self.objects: list[str] = []
        self.closed: list[str] = []
        self.volumes = 0
        self.slow, self.writing = asyncio.Event(), asyncio.Event()
        self.slow.set()
        self.writing.set()

    def start_task(self, work: Any, name: str) -> Any:
        return asyncio.ensure_future(work)

    def connect(self, path: str) -> CsiConnection:
        async def describe(name: str, endpoint: str) -> Driver:
            await self.slow.wait()
            return Driver(
                name=name, endpoint=endpoint, node_id="n", max_volumes=self.volumes, topology={}, stages=False
            )

        async def close() -> None:
            self.closed.append(path)

        return cast(CsiConnection, SimpleNamespace(describe=describe, close=close))

    async def add(self, driver: Driver) -> None:
        await self.writing.wait()
        self.objects.append(driver.endpoint + (f" {driver.max_volumes}" if driver.max_volumes else ""))

    async def remove(self, name: str) -> None:
        self.objects.append(f"no {name}")

    def drivers(self) -> CsiDrivers:
        return CsiDrivers(cast(Actor, self), cast(NodeObjects, self), self.connect)


def plugin(socket: str, *versions: str) -> Plugin:
    return Plugin(socket=socket, kind=CSI, name=NAME, endpoint=f"/csi{socket}", versions=versions)


async def test_a_second_socket_serves_only_with_a_higher_version() -> None:
    around = Neighbours()
    drivers = around.drivers()
    first = plugin("/one", "1.0.0", "1.2.0")
    assert drivers.refusal(first) == ""
    await drivers.register(first)
    for versions in (("1.1.0",), ("1.2.0",), ("v1.2",)):
        refused = drivers.refusal(plugin("/two", *versions))
        assert refused.startswith(f"validation failed for CSI Driver {NAME} at endpoint /csi/two: ")
        assert refused.endswith(f'{HIGHER}: "1.2.0"')
    newer = plugin("/two", "1.3.0")
    assert drivers.refusal(newer) == ""
    await drivers.register(newer)
    assert drivers.get(NAME)[0].endpoint == "/csi/two"
    await drivers.deregister(first)
    assert drivers.get(NAME)[0].endpoint == "/csi/two", "the first socket's end is not the driver's"
    await drivers.deregister(newer)
    with pytest.raises(CsiError):
        drivers.get(NAME)
    assert around.objects == ["/csi/one", "/csi/two", f"no {NAME}"]


async def test_a_driver_that_registers_again_on_its_socket_needs_no_higher_version() -> None:
    around = Neighbours()
    drivers = around.drivers()
    await drivers.register(plugin("/one", "1.2.0"))
    assert drivers.refusal(plugin("/one", "1.0.0")) == ""
    await drivers.register(plugin("/one", "1.0.0"))
    assert drivers.refusal(plugin("/two", "1.1.0")) == "", "the version of now counts"


async def test_a_driver_whose_old_socket_goes_while_the_new_one_registers_stays_in_the_cluster() -> None:
    around = Neighbours()
    drivers = around.drivers()
    old, new = plugin("/old", "1.0.0"), plugin("/new", "1.1.0")
    await drivers.register(old)
    around.writing.clear()
    registering = asyncio.ensure_future(drivers.register(new))
    for _ in range(3):
        await asyncio.sleep(0)
    leaving = asyncio.ensure_future(drivers.deregister(old))
    await asyncio.sleep(0)
    around.writing.set()
    await asyncio.gather(registering, leaving)
    assert drivers.get(NAME)[0].endpoint == "/csi/new"
    assert around.objects == ["/csi/old", "/csi/new"]


async def test_one_of_two_simultaneous_sockets_serves() -> None:
    around = Neighbours()
    drivers = around.drivers()
    around.slow.clear()
    both = [plugin("/one", "1.0.0"), plugin("/two", "1.0.0")]
    assert [drivers.refusal(one) for one in both] == ["", ""]
    tasks = [asyncio.ensure_future(drivers.register(one)) for one in both]
    await asyncio.sleep(0)
    around.slow.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in results if one is not None] == [PluginError]
    assert len(around.objects) == len(around.closed) == 1


@pytest.mark.parametrize(
    ("versions", "highest"),
    [
        ((), None),
        (("0.3.0",), None),
        (("2.0.0", "1.4.1", "1.10.0"), (1, 10, 0)),
        (("v1.0-rc1", "one"), (1, 0, 0)),
        ((f"1.{'9' * 5000}",), None),
        (("9" * 5000, "1.2.3"), (1, 2, 3)),
    ],
)
def test_the_highest_version_of_the_first_major_one_counts(
    versions: tuple[str, ...], highest: tuple[int, ...] | None
) -> None:
    assert highest_version(versions) == highest


async def test_without_a_version_that_is_spoken_here_nothing_is_registered() -> None:
    drivers = Neighbours().drivers()
    assert "Plugin returned an empty list for supported versions" in drivers.refusal(plugin("/one"))
    assert 'None of the versions specified ["0.3.0" "2.0.0"] are supported' in drivers.refusal(
        plugin("/one", "0.3.0", "2.0.0")
    )


async def test_a_driver_with_a_new_count_is_listed_again_and_one_without_is_not() -> None:
    around = Neighbours()
    drivers = around.drivers()
    await drivers.register(plugin("/one", "1.0.0"))
    await drivers.refresh(NAME)
    assert around.objects == ["/csi/one"]
    around.volumes = 5
    await drivers.refresh(NAME)
    assert around.objects == ["/csi/one", "/csi/one 5"]
    assert drivers.get(NAME)[0].max_volumes == 5


async def test_an_answer_of_a_driver_that_was_replaced_meanwhile_changes_nothing() -> None:
    around = Neighbours()
    drivers = around.drivers()
    await drivers.register(plugin("/one", "1.0.0"))
    around.slow.clear()
    late = asyncio.ensure_future(drivers.refresh(NAME))
    await asyncio.sleep(0)
    newer = asyncio.ensure_future(drivers.register(plugin("/two", "1.1.0")))
    around.volumes = 5
    around.slow.set()
    await newer
    await late
    assert around.objects[-1] == "/csi/two 5"
    assert drivers.get(NAME)[0].endpoint == "/csi/two"


async def test_a_driver_deregistered_while_its_new_count_is_written_stays_away() -> None:
    around = Neighbours()
    drivers = around.drivers()
    await drivers.register(plugin("/one", "1.0.0"))
    around.volumes = 5
    around.writing.clear()
    late = asyncio.ensure_future(drivers.refresh(NAME))
    for _ in range(5):
        await asyncio.sleep(0)
    gone = asyncio.ensure_future(drivers.deregister(plugin("/one", "1.0.0")))
    await asyncio.sleep(0)
    around.writing.set()
    await asyncio.gather(late, gone)
    assert drivers.names == []
    assert around.objects == ["/csi/one", "/csi/one 5", f"no {NAME}"]
