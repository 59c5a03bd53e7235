"""The API server for tests, asked by the agent's own client over TLS."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.shared.api import kubeconfig
from actors.shared.api.client import ApiClient
from actors.shared.api.errors import ApiError, Gone, TooManyRequests
from tests.support.apiserver import Answer, ApiServer, Reply, Request
from tests.support.apiserver.authorizer import Grant
from tests.support.apiserver.errors import StatusError
from tests.support.apiserver.request import User, target_of
from tests.support.apiserver.server import ADMIN
from tests.support.present import present

pytestmark = pytest.mark.slow

READY = {"type": "Ready", "status": "True"}
PODS = "/api/v1/namespaces/default/pods"
STRATEGIC = "application/strategic-merge-patch+json"


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "a", "image": "busybox"}], **spec}}


class Asked:
    """A client that speaks JSON."""

    def __init__(self, path: str) -> None:
        self.client = ApiClient(kubeconfig.load(path))

    async def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        data = msgspec.json.encode(body) if body is not None else b""
        return msgspec.json.decode((await self.client.call(method, path, body=data, **more)).body)

    async def refused(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, str]:
        with pytest.raises(ApiError) as caught:
            await self(method, path, body, **more)
        return caught.value.status, str(caught.value)


async def test_a_pod_is_created_with_defaults_token_and_tolerations(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        made = await ask("POST", PODS, pod())
        assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
        assert made["spec"]["restartPolicy"] == "Always"
        assert made["spec"]["serviceAccountName"] == "default"
        assert made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"].startswith("/var/run/secrets/")
        assert len(made["spec"]["tolerations"]) == 2
        assert (await ask.refused("POST", PODS, pod()))[0] == 409
        code, why = await ask.refused("POST", PODS, pod("q", containers=[]))
        assert (code, "spec.containers: Required value" in why) == (422, True)
        await ask.client.close()


async def test_a_pod_on_a_node_is_removed_by_its_node_and_one_on_none_at_once(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        await ask("POST", PODS, pod("waiting"))
        await ask("DELETE", f"{PODS}/waiting")
        assert server.get("pods", "waiting") is None
        await ask("POST", PODS, pod("bound", nodeName="n1"))
        marked = await ask("DELETE", f"{PODS}/bound")
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
        shorter = await ask("DELETE", f"{PODS}/bound", {"gracePeriodSeconds": 5})
        assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
        assert shorter["metadata"]["deletionTimestamp"] < marked["metadata"]["deletionTimestamp"]
        assert await ask("DELETE", f"{PODS}/bound", {"gracePeriodSeconds": 60}) == shorter
        wrong = {"gracePeriodSeconds": 0, "preconditions": {"uid": "other"}}
        assert (await ask.refused("DELETE", f"{PODS}/bound", wrong))[0] == 409
        await ask("DELETE", f"{PODS}/bound", {"gracePeriodSeconds": 0})
        assert server.get("pods", "bound") is None
        await ask.client.close()


async def test_a_status_is_patched_apart_from_the_spec_and_conflicts_are_reported(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        made = await ask("POST", PODS, pod())
        version = made["metadata"]["resourceVersion"]
        patch = {"metadata": {"uid": made["metadata"]["uid"], "resourceVersion": version},
                 "spec": {"nodeName": "elsewhere"},
                 "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}  # fmt: skip
        changed = await ask("PATCH", f"{PODS}/p/status", patch, content_type=STRATEGIC)
        assert (changed["status"]["phase"], changed["status"]["qosClass"]) == ("Running", "BestEffort")
        assert "nodeName" not in changed["spec"]
        assert (await ask.refused("PATCH", f"{PODS}/p/status", patch, content_type=STRATEGIC))[0] == 409
        more = {"status": {"conditions": [{"type": "Mine", "status": "True"}, {"type": "Ready", "status": "False"}],
                           "podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.1"}]}}  # fmt: skip
        changed = await ask("PATCH", f"{PODS}/p/status", more, content_type=STRATEGIC)
        assert {one["type"]: one["status"] for one in changed["status"]["conditions"]} == {
            "Ready": "False",
            "Mine": "True",
        }
        assert changed["status"]["podIPs"] == [{"ip": "10.0.0.1"}]
        unchanged = await ask("PATCH", f"{PODS}/p", {"status": {"phase": "Failed"}}, content_type=STRATEGIC)
        assert unchanged["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
        await ask.client.close()


async def test_a_list_is_paged_and_a_watch_continues_from_it_with_bookmarks(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, bookmark_seconds=0.2) as server:
        ask = Asked(server.kubeconfig())
        for number in range(5):
            server.create("pods", pod(f"p{number}", nodeName="n1" if number % 2 else "n2"))
        first = await ask("GET", PODS, query={"limit": "2"})
        rest = await ask("GET", PODS, query={"limit": "9", "continue": first["metadata"]["continue"]})
        assert [one["metadata"]["name"] for one in first["items"] + rest["items"]] == [f"p{n}" for n in range(5)]
        assert "kind" not in first["items"][0]
        query = {"fieldSelector": "spec.nodeName=n1", "allowWatchBookmarks": "true",
                 "resourceVersion": first["metadata"]["resourceVersion"]}  # fmt: skip
        server.create("pods", pod("other"))
        server.create("pods", pod("p9", nodeName="n1"))
        server.delete("pods", "p1", gracePeriodSeconds=0)
        seen = []
        async with aclosing(ask.client.watch("/api/v1/pods", query)) as events:
            async for event in events:
                seen.append((event.type, msgspec.json.decode(event.object)["metadata"].get("name", "")))
                if event.type == "BOOKMARK":
                    break
        assert seen == [("ADDED", "p9"), ("DELETED", "p1"), ("BOOKMARK", "")]
        await ask.client.close()


async def test_a_watch_from_a_forgotten_version_is_410(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        version = (await ask("GET", PODS))["metadata"]["resourceVersion"]
        server.create("pods", pod())
        server.store.compact()
        events = ask.client.watch(PODS, {"resourceVersion": version})
        with pytest.raises(ApiError) as caught:
            await anext(events)
        assert "too old resource version" in str(caught.value)
        await ask.client.close()


async def test_a_node_reads_and_writes_only_what_is_its_own(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, scheduler=False) as server:
        ask = Asked(server.node_kubeconfig("n1"))
        node = await ask("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}, "status": {"phase": "x"}})
        assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
        assert (await ask.refused("POST", "/api/v1/nodes", {"metadata": {"name": "n2"}}))[0] == 403
        assert (await ask.refused("GET", "/api/v1/pods"))[0] == 403
        assert (await ask("GET", "/api/v1/pods", query={"fieldSelector": "spec.nodeName=n1"}))["items"] == []
        server.create("secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
        assert (await ask.refused("GET", "/api/v1/namespaces/default/secrets/s"))[0] == 403
        volume = {"name": "v", "secret": {"secretName": "s"}}
        bound = server.create("pods", pod("bound", nodeName="n1", volumes=[volume]))
        assert (await ask("GET", "/api/v1/namespaces/default/secrets/s"))["data"] == {"a": "Yg=="}
        assert (await ask.refused("POST", PODS, pod("mirror", nodeName="n1")))[0] == 403
        owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node["metadata"]["uid"], "controller": True}
        mirror = pod("mirror", nodeName="n1")
        mirror["metadata"] |= {"annotations": {"kubernetes.io/config.mirror": "h"}, "ownerReferences": [owner]}
        assert (await ask("POST", PODS, mirror))["metadata"]["name"] == "mirror"
        token = "/api/v1/namespaces/default/serviceaccounts/default/token"
        assert (await ask.refused("POST", token, {"spec": {}}))[0] == 403
        reference = {"kind": "Pod", "apiVersion": "v1", "name": "bound", "uid": bound["metadata"]["uid"]}
        given = await ask("POST", token, {"spec": {"boundObjectRef": reference, "expirationSeconds": 600}})
        who = server.tokens.user(given["status"]["token"])
        assert who is not None
        assert who.name == "system:serviceaccount:default:default"
        server.delete("pods", "bound", gracePeriodSeconds=0)
        assert server.tokens.user(given["status"]["token"]) is None
        assert (await ask.refused("GET", f"{PODS}/bound"))[0] == 403
        patch = {"metadata": {"uid": bound["metadata"]["uid"], "resourceVersion": "1"}, "status": {"phase": "Failed"}}
        assert (await ask.refused("PATCH", f"{PODS}/bound/status", patch, content_type=STRATEGIC))[0] == 404
        server.create("pods", pod("bound", nodeName="n2"))
        assert (await ask.refused("PATCH", f"{PODS}/bound/status", patch, content_type=STRATEGIC))[0] == 403
        patch["metadata"] = {"uid": bound["metadata"]["uid"]}
        assert (await ask.refused("PATCH", f"{PODS}/mirror/status", patch, content_type=STRATEGIC))[0] == 422
        await ask.client.close()


async def test_a_pod_is_scheduled_once_its_node_is_ready_and_its_taint_gone(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.node_kubeconfig("n1"))
        server.create("pods", pod())
        await ask("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
        assert "nodeName" not in server.items("pods")[0]["spec"]
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await ask("PATCH", "/api/v1/nodes/n1/status", ready, content_type=STRATEGIC)
        async with asyncio.timeout(5):
            while "nodeName" not in server.items("pods")[0]["spec"]:
                await asyncio.sleep(0.01)
        assert "taints" not in server.items("nodes")[0]["spec"]
        await ask.client.close()


async def test_faults_come_as_ordered_and_requests_are_remembered(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        fault = server.fault("status", verb="list", resource="pods", code=503, times=1)
        assert (await ask.refused("GET", PODS))[0] == 503
        assert (await ask("GET", PODS))["items"] == []
        assert fault.seen == 1
        server.fault("lost", verb="create", resource="pods", times=1)
        with pytest.raises(ApiError):
            await ask("POST", PODS, pod())
        assert server.get("pods", "p") is not None
        server.fault("conflict", verb="patch", times=1)
        assert (await ask.refused("PATCH", f"{PODS}/p", {}, content_type=STRATEGIC))[0] == 409
        server.fault("hang", verb="get", times=1)
        with pytest.raises(ApiError):
            await ask("GET", f"{PODS}/p", timeout=0.2)
        server.fault("stale", verb="list", revisions=1, times=1)
        server.delete("pods", "p")
        assert [one["metadata"]["name"] for one in (await ask("GET", PODS))["items"]] == ["p"]
        assert (await ask("GET", PODS))["items"] == []
        assert [one.status for one in server.requests if one.verb == "create"] == [201]
        await ask.client.close()


async def test_a_piece_of_a_list_whose_version_is_forgotten_is_410_with_a_way_on(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        for name in "abc":
            server.create("pods", pod(name))
        first = await ask("GET", PODS, query={"limit": "1"})
        server.create("pods", pod("d"))
        server.store.compact()
        request = Request("GET", f"{PODS}?limit=1&continue={first['metadata']['continue']}", {}, b"", ADMIN)
        with pytest.raises(StatusError) as caught:
            server.handling.verbs.perform(request, present(target_of(request)))
        status = caught.value.status()
        assert (status["code"], status["reason"]) == (410, "Expired")
        rest = await ask("GET", PODS, query={"continue": status["metadata"]["continue"]})
        assert [one["metadata"]["name"] for one in rest["items"]] == ["b", "c", "d"]
        await ask.client.close()


async def test_an_unobserved_budget_delays_an_eviction(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        server.create("pods", {**pod(nodeName="n1"), "metadata": {"name": "p", "labels": {"app": "web"}}})
        server.patch("pods", "p", {"status": {"phase": "Running", "conditions": [READY]}}, subresource="status")
        spec = {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
        server.create("poddisruptionbudgets", {"metadata": {"name": "b"}, "spec": spec})
        eviction = {"metadata": {"name": "p"}}
        with pytest.raises(TooManyRequests) as caught:
            await ask("POST", f"{PODS}/p/eviction", eviction)
        assert caught.value.retry_after == 10
        observed = {"observedGeneration": 1, "disruptionsAllowed": 1}
        server.patch("poddisruptionbudgets", "b", {"status": observed}, subresource="status")
        assert (await ask("POST", f"{PODS}/p/eviction", eviction))["status"] == "Success"
        assert present(server.get("poddisruptionbudgets", "b"))["status"]["disruptionsAllowed"] == 0
        await ask.client.close()


async def test_a_watch_gets_410_and_other_answers_as_ordered(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        server.fault("expired", verb="watch", times=1)
        with pytest.raises(Gone, match="too old resource version"):
            await anext(ask.client.watch(PODS, {}))
        server.fault("answer", path="/api/v1/nodes", code=502, body="<html>", times=1)
        assert (await ask.refused("GET", "/api/v1/nodes"))[0] == 502
        assert (await ask("GET", "/api/v1/nodes"))["items"] == []
        with pytest.raises(StatusError, match="no such fault: explode"):
            server.fault("explode")
        await ask.client.close()


async def test_a_script_answers_first_and_the_server_answers_the_rest(tmp_path: Path) -> None:
    async def script(request: Request) -> Reply | None:
        return Answer(418, b"{}") if request.path == "/tea" else None

    async with ApiServer(tmp_path, script) as server:
        ask = Asked(server.kubeconfig())
        assert (await ask.refused("GET", "/tea"))[0] == 418
        assert (await ask("GET", PODS))["items"] == []
        assert [one.status for one in server.requests] == [418, 200]
        await ask.client.close()


async def test_a_restarted_server_continues_with_its_stored_objects(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, keep=True) as server:
        server.create("pods", pod())
        was, port, path = server.get("pods", "p"), server.port, server.kubeconfig()
    async with ApiServer(tmp_path, keep=True, port=port) as again:
        assert again.get("pods", "p") == was
        ask = Asked(path)
        assert (await ask("GET", f"{PODS}/p"))["metadata"] == (was or {})["metadata"]
        await ask.client.close()


async def test_debug_containers_and_resources_have_their_own_doors(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        await ask("POST", PODS, pod())
        more = {"spec": {"ephemeralContainers": [{"name": "d", "image": "busybox"}], "hostname": "no"}}
        made = await ask("PATCH", f"{PODS}/p/ephemeralcontainers", more, content_type=STRATEGIC)
        assert made["spec"]["ephemeralContainers"][0]["imagePullPolicy"] == "Always"
        assert "hostname" not in made["spec"]
        assert made["metadata"]["generation"] == 2
        size = {"spec": {"containers": [{"name": "a", "image": "other", "resources": {"requests": {"cpu": "1"}}}]}}
        made = await ask("PATCH", f"{PODS}/p/resize", size, content_type=STRATEGIC)
        assert made["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}
        assert made["spec"]["containers"][0]["image"] == "busybox"
        whole = {"spec": {"resources": {"requests": {"cpu": "2"}}}}
        made = await ask("PATCH", f"{PODS}/p/resize", whole, content_type=STRATEGIC)
        assert made["spec"]["resources"] == {"requests": {"cpu": "2"}}
        assert (await ask.refused("PATCH", f"{PODS}/p", {"spec": {"hostname": "x"}}, content_type=STRATEGIC))[0] == 422
        await ask.client.close()


async def test_an_event_has_two_forms(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        ask = Asked(server.kubeconfig())
        core = {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p"},
            "reason": "R",
            "message": "m",
        }
        await ask("POST", "/api/v1/namespaces/default/events", core)
        path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
        shown = await ask("GET", path)
        assert (shown["note"], shown["regarding"]["name"], shown["apiVersion"]) == ("m", "p", "events.k8s.io/v1")
        await ask("PATCH", path, {"note": "n"}, content_type="application/merge-patch+json")
        assert (server.get("events", "e") or {})["message"] == "n"
        await ask.client.close()


async def test_reviews_return_the_user_of_a_token_and_the_rights_of_a_user(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        server.users.static["secret"] = User("jane", ("system:authenticated",))
        server.handling.authorizer.grants.append(Grant("jane", ("get",), ("nodes/metrics",)))
        ask = Asked(server.node_kubeconfig("n1"))
        reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
        assert (await ask("POST", reviews, {"spec": {"token": "secret"}}))["status"]["user"]["username"] == "jane"
        assert (await ask("POST", reviews, {"spec": {"token": "wrong"}}))["status"]["authenticated"] is False
        for part, allowed in (("metrics", True), ("proxy", False)):
            wanted = {"verb": "get", "resource": "nodes", "subresource": part, "name": "n1"}
            review = {"spec": {"user": "jane", "resourceAttributes": wanted}}
            path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            assert (await ask("POST", path, review))["status"]["allowed"] is allowed
        await ask.client.close()
