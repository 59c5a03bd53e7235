"""Which objects are watched, for how long, and what is read again without a watch; time in the test's hand."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any

import pytest

from actors.api_clients.kube_client import object_cache
from actors.api_clients.kube_client.cached_object import IDLE_SECONDS, CachedObject
from actors.api_clients.kube_client.messages import ObjectRef, ObjectState
from actors.api_clients.kube_client.object_cache import ObjectCache
from actors.shared.api.client import ApiResponse, WatchEvent
from actors.shared.api.errors import ApiError, NotFound, Unreachable


def body(name: str, version: int = 1) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, "data": {}}


class Server:
    """The client and the actor in one: lists give what is there, watches hang, reads are counted."""

    def __init__(self) -> None:
        self.client: Any = self
        self.objects: dict[str, dict[str, Any]] = {}
        self.reads: list[str] = []
        self.lists: list[str] = []
        self.watch_seconds: list[int] = []
        self.away = False
        self.tasks: set[asyncio.Task[Any]] = set()

    async def call(self, method: str, path: str, *, query: Mapping[str, str], timeout: float, most: int) -> ApiResponse:
        name = query["fieldSelector"].removeprefix("metadata.name=")
        self.lists.append(name)
        items = [self.objects[name]] if name in self.objects else []
        return ApiResponse(200, json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode(), {})

    async def watch(
        self, path: str, query: Mapping[str, str], *, opened: Callable[[], None]
    ) -> AsyncIterator[WatchEvent]:
        self.watch_seconds.append(int(query["timeoutSeconds"]))
        opened()
        await asyncio.Event().wait()
        yield WatchEvent("", b"")

    async def request(self, method: str, path: str) -> ApiResponse:
        name = path.rsplit("/", 1)[1]
        self.reads.append(name)
        await asyncio.sleep(0)
        if self.away:
            raise Unreachable(0, "Unreachable", "away")
        if name not in self.objects:
            raise NotFound(404, "NotFound", "")
        return ApiResponse(200, json.dumps(self.objects[name]).encode(), {})

    def start_task(self, coroutine: Coroutine[Any, Any, Any], name: str = "") -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        return task

    def answered(self) -> None:
        pass

    def failed(self, error: ApiError) -> None:
        pass


def ref(name: str) -> ObjectRef:
    return ObjectRef("Secret", name, "ns")


class Site:
    def __init__(self, strategy: str) -> None:
        self.server, self.now, self.received = Server(), 0.0, list[ObjectState]()
        self.objects = ObjectCache(self.server, strategy, self.received.append, lambda: self.now)

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def upkeep(self, seconds: float) -> None:
        self.now += seconds
        await self.objects.upkeep(random.Random(1))
        await self.settle()


async def test_an_unused_watch_ends_and_restarts_with_the_next_request() -> None:
    site = Site("Watch")
    site.server.objects = {"env": body("env"), "mounted": body("mounted")}
    site.objects.refer("pod", {ref("env"): False, ref("mounted"): True})
    await site.settle()
    assert site.objects.watches == 2
    await site.upkeep(IDLE_SECONDS + 1)
    assert site.objects.watches == 1
    site.server.objects["env"] = body("env", 9)
    state = await site.objects.get(ref("env"), 1.0)
    assert json.loads(state.body) == body("env", 9)
    assert site.objects.watches == 2
    await site.upkeep(1)
    assert site.objects.watches == 2


async def test_only_the_states_of_mounted_objects_that_were_read_are_told_again() -> None:
    site = Site("Cache")
    site.server.objects = {"env": body("env"), "mounted": body("mounted")}
    site.objects.refer("pod", {ref("env"): False, ref("mounted"): True, ref("unread"): True})
    for name in ("env", "mounted"):
        await site.objects.get(ref(name), 1.0)
    site.received.clear()
    site.objects.tell_all()
    assert [state.ref for state in site.received] == [ref("mounted")]


async def test_a_watch_of_a_single_object_lasts_half_an_hour_or_longer() -> None:
    site = Site("Watch")
    site.objects.refer("pod", {ref(str(number)): True for number in range(20)})
    await site.settle()
    assert len(site.server.watch_seconds) == 20
    assert all(1800 <= seconds <= 3600 for seconds in site.server.watch_seconds)


async def test_one_watch_serves_every_pod_and_ends_with_the_last() -> None:
    site = Site("Watch")
    for uid in ("a", "b"):
        site.objects.refer(uid, {ref("s"): True})
    await site.settle()
    assert (site.objects.watches, site.server.lists) == (1, ["s"])
    site.objects.refer("a", {})
    assert site.objects.watches == 1
    site.objects.retain(set())
    assert (site.objects.watches, len(site.objects)) == (0, 0)


async def test_watches_have_an_upper_bound_beyond_which_objects_are_read_when_they_are_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(object_cache, "MAX_WATCHES", 2)
    site = Site("Watch")
    site.server.objects = {str(number): body(str(number)) for number in range(4)}
    site.objects.refer("pod", {ref(str(number)): True for number in range(4)})
    await site.upkeep(0)
    assert site.objects.watches == 2
    assert sorted(site.server.reads) == ["2", "3"]
    assert sorted(state.ref.name for state in site.received) == ["0", "1", "2", "3"]


async def test_watches_are_counted_once_for_all_references_of_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[CachedObject] = []

    def running(one: CachedObject) -> bool:
        counted.append(one)
        return False

    monkeypatch.setattr(CachedObject, "running", property(running))
    site = Site("Cache")
    site.objects.refer("a", {ref(str(number)): False for number in range(500)})
    site.objects.refer("b", {ref(str(number)): False for number in range(1000)})
    assert len(counted) == 500


async def test_a_mounted_object_is_read_again_when_its_ttl_ends_and_reported_if_it_changed() -> None:
    site = Site("Cache")
    site.objects.set_ttl(15)
    site.server.objects = {"s": body("s")}
    site.objects.refer("pod", {ref("s"): True})
    await site.upkeep(0)
    await site.upkeep(14)
    assert (len(site.server.reads), len(site.received)) == (1, 1)
    site.server.objects = {"s": body("s", 2)}
    await site.upkeep(10)
    assert (len(site.server.reads), len(site.received)) == (2, 2)
    await site.upkeep(30)
    assert (len(site.server.reads), len(site.received)) == (3, 2)


@pytest.mark.parametrize("strategy", ["Cache", "Watch"])
async def test_a_new_pod_gets_what_the_server_has_now_though_the_ttl_has_not_ended(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "MAX_WATCHES", 0)
    site = Site(strategy)
    site.server.objects = {"s": body("s")}
    site.objects.refer("before", {ref("s"): False})
    await site.objects.get(ref("s"), 1)
    site.server.objects = {"s": body("s", 2)}
    site.objects.refer("before", {ref("s"): True})
    assert json.loads((await site.objects.get(ref("s"), 1)).body) == body("s"), "the old one may have an older state"
    site.objects.refer("after", {ref("s"): False})
    assert json.loads((await site.objects.get(ref("s"), 1)).body) == body("s", 2)


@pytest.mark.parametrize("outdate", ["a new pod", "a restored server"])
async def test_a_read_that_is_under_way_is_not_shared_by_those_who_need_a_newer_answer(outdate: str) -> None:
    site = Site("Cache")
    asked, answers = site.server.request, asyncio.Event()

    async def slow(method: str, path: str) -> ApiResponse:
        answer = await asked(method, path)
        if len(site.server.reads) == 1:
            await answers.wait()
        return answer

    site.server.request = slow  # type: ignore[method-assign]
    site.server.objects = {"s": body("s")}
    site.objects.refer("before", {ref("s"): True})
    first = asyncio.create_task(site.objects.get(ref("s"), 1))
    await site.settle()
    site.server.objects = {"s": body("s", 2)}
    if outdate == "a new pod":
        site.objects.refer("after", {ref("s"): True})
    else:
        site.objects.start_over()
    assert json.loads((await site.objects.get(ref("s"), 1)).body) == body("s", 2)
    answers.set()
    assert json.loads((await first).body) == body("s")
    assert json.loads((await site.objects.get(ref("s"), 1)).body) == body("s", 2), "the late answer changes nothing"
    assert len(site.server.reads) == 2


async def test_a_late_answer_does_not_count_as_new_before_it_is_read_again() -> None:
    site = Site("Cache")
    site.server.objects = {"s": body("s")}
    site.objects.refer("before", {ref("s"): True})
    first = asyncio.create_task(site.objects.get(ref("s"), 1))
    await asyncio.sleep(0)
    site.objects.refer("after", {ref("s"): True})
    await first
    site.server.objects = {"s": body("s", 2)}
    assert json.loads((await site.objects.get(ref("s"), 1)).body) == body("s", 2)


async def test_known_objects_stay_while_the_server_is_away() -> None:
    site = Site("Get")
    site.server.objects = {"s": body("s")}
    site.objects.refer("pod", {ref("s"): True})
    assert (await site.objects.get(ref("s"), 1)).body
    site.server.away = True
    assert (await site.objects.get(ref("s"), 1)).body
    assert (await site.objects.get(ref("other"), 1)).reason == "Unreachable"


async def test_many_questions_at_once_are_one_request() -> None:
    site = Site("Get")
    site.server.objects = {"s": body("s")}
    site.objects.refer("pod", {ref("s"): False})
    states = await asyncio.gather(*(site.objects.get(ref("s"), 1) for _ in range(5)))
    assert all(state.body for state in states)
    assert site.server.reads == ["s"]


async def test_an_object_without_a_pod_is_not_kept() -> None:
    site = Site("Cache")
    assert (await site.objects.get(ref("x"), 1)).reason == "NotFound"
    site.server.objects = {"x": body("x")}
    assert (await site.objects.get(ref("x"), 1)).body
    assert len(site.objects) == 0


async def test_the_largest_objects_over_the_byte_limit_are_read_and_their_changes_reported_but_not_cached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(object_cache, "MOST_BYTES", 1500)
    site = Site("Watch")
    site.server.objects = {name: {**body(name), "data": {"k": "x" * 1000}} for name in ("large", "larger")}
    site.server.objects["larger"]["data"]["more"] = "x" * 100
    site.server.objects["small"] = body("small")
    site.objects.refer("pod", {ref(name): True for name in ("small", "larger", "large")})
    await site.settle()
    assert site.objects.watches == 2
    assert sorted(state.ref.name for state in site.received) == ["large", "larger", "small"]
    for _ in range(2):
        state = await site.objects.get(ref("larger"), 1.0)
        assert json.loads(state.body) == site.server.objects["larger"]
    assert site.server.reads == ["larger", "larger"]
    site.received.clear()
    site.server.objects["larger"]["data"]["k"] = "y" * 1000
    await site.upkeep(site.objects.ttl * 2)
    await site.upkeep(site.objects.ttl * 2)
    assert [state.ref.name for state in site.received] == ["larger"], "told once"


async def test_the_number_of_concurrent_reads_of_objects_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "AT_ONCE", 2)
    for strategy in ("Watch", "Cache"):
        site, going_on, most = Site(strategy), 0, 0
        call, request = site.server.call, site.server.request

        async def counted(answer: Coroutine[Any, Any, ApiResponse]) -> ApiResponse:
            nonlocal going_on, most
            going_on += 1
            most = max(most, going_on)
            for _ in range(3):
                await asyncio.sleep(0)
            going_on -= 1
            return await answer

        monkeypatch.setattr(site.server, "call", lambda *a, call=call, **k: counted(call(*a, **k)))
        monkeypatch.setattr(site.server, "request", lambda *a, request=request: counted(request(*a)))
        names = [str(number) for number in range(6)]
        site.server.objects = {name: body(name) for name in names}
        site.objects.refer("pod", {ref(name): True for name in names})
        found = await asyncio.gather(*(site.objects.get(ref(name), 5.0) for name in names))
        assert [json.loads(state.body) for state in found] == list(site.server.objects.values())
        assert most == 2
