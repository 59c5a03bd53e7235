"""ResourceSlices of absent drivers are deleted, so that no pod is scheduled for their devices."""

from __future__ import annotations

import json

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.device_manager.dra.slices import DELAY_SECONDS, ResourceSlices
from supervision.actor import Actor, AskError
from supervision.testing.harness import Harness

DELETED = ApiAnswer(status=200)
UNAVAILABLE = ApiAnswer(status=503, reason="ServiceUnavailable")


class Manager(Actor):
    """It has the slices of a node."""


class Node:
    """The slices of node `n`, and the API server that answers: `listed` are the drivers of its slices."""

    def __init__(self, incarnation: int = 1, listed: tuple[str, ...] = ()) -> None:
        self.connected: set[str] = set()
        self.listed, self.deleted = listed, list[str]()
        self.lists = 0
        self.failures: list[ApiAnswer | AskError] = []
        self.harness = Harness(Manager, name="device_manager", incarnation=incarnation)
        self.slices = ResourceSlices(self.harness.actor, "n", self.connected.__contains__)
        self.harness.answer(ApiCall, self.answer)

    def answer(self, call: ApiCall) -> ApiAnswer:
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, AskError):
                raise failure
            return failure
        selector = call.query["fieldSelector"]
        assert selector.startswith("spec.nodeName=n")
        if call.method == "DELETE":
            self.deleted.append(selector.removeprefix("spec.nodeName=n").removeprefix(",spec.driver="))
            return DELETED
        self.lists += 1
        return ApiAnswer(
            status=200, body=json.dumps({"items": [{"spec": {"driver": d}} for d in self.listed]}).encode()
        )


async def test_at_the_agents_start_all_slices_of_the_node_go() -> None:
    node = Node()
    node.slices.start()
    await node.harness.settle()
    assert node.deleted == [""]


async def test_a_restarted_actor_deletes_the_slices_of_drivers_that_have_not_come_back() -> None:
    node = Node(incarnation=2, listed=("gone", "back", "gone", "waits"))
    node.slices.start()
    await node.harness.advance(1.0)
    node.slices.presence("waits", there=False)  # its own time is not over yet
    node.connected.add("back")
    await node.harness.advance(DELAY_SECONDS - 1.0)
    assert node.deleted == ["gone"]
    await node.harness.advance(1.0)
    assert node.deleted == ["gone", "waits"]


async def test_a_restarted_actor_lists_again_until_the_api_server_answers() -> None:
    node = Node(incarnation=2, listed=("gone",))
    node.failures = [UNAVAILABLE, AskError("kube_client is gone")]
    node.slices.start()
    await node.harness.advance(DELAY_SECONDS)
    assert node.deleted == []
    await node.harness.advance(60.0)
    assert (node.deleted, node.lists) == (["gone"], 1)


async def test_a_cluster_without_resource_claims_has_no_slices_to_delete() -> None:
    node = Node(incarnation=2)
    node.failures = [ApiAnswer(status=404, reason="NotFound")]
    node.slices.start()
    await node.harness.advance(600.0)
    assert (node.deleted, node.lists) == ([], 0)


async def test_the_slices_of_a_driver_go_half_a_minute_after_it_went() -> None:
    node = Node()
    node.slices.presence("d", there=False)
    node.slices.presence("d", there=False)
    await node.harness.advance(DELAY_SECONDS - 0.1)
    assert node.deleted == []
    await node.harness.advance(0.1)
    assert node.deleted == ["d"]


async def test_the_slices_of_a_driver_that_comes_back_in_time_stay() -> None:
    node = Node()
    node.slices.presence("d", there=False)
    node.slices.presence("d", there=True)
    await node.harness.advance(10 * DELAY_SECONDS)
    assert node.deleted == []


async def test_a_failed_deletion_is_repeated_until_the_driver_is_back() -> None:
    node = Node()
    node.failures = [UNAVAILABLE] * 1000
    node.slices.presence("d", there=False)
    await node.harness.advance(DELAY_SECONDS + 2.0)
    tried = 1000 - len(node.failures)
    assert tried == 2  # a second after the first, and the third time two seconds later
    node.connected.add("d")
    await node.harness.advance(3600.0)
    assert (node.deleted, 1000 - len(node.failures)) == ([], tried)
