"""Lists of all sandboxes and containers, of which only new items are decoded."""

from __future__ import annotations

import pytest

from actors.shared.cri.errors import RuntimeFailure
from actors.shared.cri.node_listing import DecodedItems, NodeListing
from proto import cri_pb2 as cri
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime


async def test_a_listing_has_what_the_other_lists_of_the_client_have() -> None:
    client, pod = FakeRuntime().client(), sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    first = await client.create_container(sandbox, container_config(pod, name="a"), pod)
    listing = NodeListing(client)
    for _ in range(2):
        sandboxes, containers = await listing.read()
        assert sandboxes == await client.list_pod_sandboxes() != []
        assert containers == await client.list_containers() != []
    await client.start_container(first)
    await client.create_container(sandbox, container_config(pod, name="b"), pod)
    _, containers = await listing.read()
    assert sorted((one.name, one.state) for one in containers) == [("a", "running"), ("b", "created")]
    assert containers == await client.list_containers()


async def test_a_container_that_is_gone_is_not_listed_from_memory() -> None:
    client, pod = FakeRuntime().client(), sandbox_config()
    sandbox = await client.run_pod_sandbox(pod)
    container = await client.create_container(sandbox, container_config(pod, name="a"), pod)
    listing = NodeListing(client)
    assert len((await listing.read())[1]) == 1
    await client.remove_container(container)
    assert (await listing.read())[1] == []


async def test_what_a_runtime_lists_twice_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRuntime()

    async def containers(request: cri.ListContainersRequest) -> cri.ListContainersResponse:
        both = [cri.Container(id="a", state=cri.ContainerState.CONTAINER_RUNNING), cri.Container(id="a")]
        return cri.ListContainersResponse(containers=both)

    monkeypatch.setattr(fake, "do_ListContainers", containers)
    assert [one.id for one in (await NodeListing(fake.client()).read())[1]] == ["a"]


@pytest.mark.parametrize("item", [b"\xff", cri.Container(id="../x").SerializeToString()])
async def test_an_item_that_cannot_be_read_makes_the_list_invalid_each_time(
    item: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeRuntime().client()

    async def unread() -> list[bytes]:
        return [cri.Container(id="good").SerializeToString(), item]

    monkeypatch.setattr(client, "unread_containers", unread)
    listing = NodeListing(client)
    for _ in range(2):
        with pytest.raises(RuntimeFailure):
            await listing.read()


def test_only_items_that_were_not_in_the_last_list_are_decoded() -> None:
    decoded = list[bytes]()

    def decode(item: bytes) -> str:
        decoded.append(item)
        return item.decode()

    items = DecodedItems(decode)
    assert items.values([b"a", b"b"]) == ["a", "b"]
    assert items.values([b"b", b"c", b"a"]) == ["b", "c", "a"]
    assert decoded == [b"a", b"b", b"c"]
    items.values([b"c"])
    items.values([b"a"])
    assert decoded == [b"a", b"b", b"c", b"a"]
