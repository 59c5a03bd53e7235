"""Who gets in: tokens, certificates, anonymous callers, permissions, and what is remembered of them."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.http_servers.access.access import CheckedAccess, OpenAccess
from actors.http_servers.access.answer_cache import MAX_ANSWERS, AnswerCache
from actors.http_servers.access.authentication import Authenticator
from actors.http_servers.access.authorization import VERBS, AlwaysAllow, Denial, Webhook
from actors.http_servers.access.reviews import MAX_CALLS, ReviewFailed, Reviews, UserInfo
from actors.http_servers.endpoints import ENDPOINTS
from actors.http_servers.serving.endpoint import permissions
from actors.http_servers.tls.context import ServerContext

GRANTS = {("alice", "get", "metrics"), ("bob", "create", "proxy"), ("carol", "get", "proxy")}


BAD = "bad certificate"
subresources = permissions(ENDPOINTS)


class Api:
    """Answers reviews: a token is `good:<user>`."""

    def __init__(self, *failures: int) -> None:
        self.calls: list[dict[str, Any]] = []
        self.failures = list(failures)
        self.pauses: list[float] = []
        self.reviews = Reviews(
            self.call, token_seconds=120.0, allowed_seconds=300.0, denied_seconds=30.0, pause=self.pause
        )

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def call(self, call: ApiCall) -> ApiAnswer:
        body = json.loads(call.body)
        self.calls.append(body)
        if self.failures:
            status = self.failures.pop(0)
            return ApiAnswer(status=status, reason="Trouble", message="not now")
        if body["kind"] == "TokenReview":
            kind, _, name = body["spec"]["token"].partition(":")
            user = {"username": name, "groups": ["g"], "uid": "1", "extra": {"k": ["v"]}}
            status_: dict[str, Any] = {"authenticated": kind == "good", "user": user if kind == "good" else {}}
        else:
            spec = body["spec"]
            wanted = spec["resourceAttributes"]
            status_ = {"allowed": (spec["user"], wanted["verb"], wanted["subresource"]) in GRANTS}
        return ApiAnswer(status=201, body=json.dumps({"status": status_}).encode())


class Connection:
    """As little of one as a request looks at: it is its own stream and socket. BAD showed what does not pass."""

    def __init__(self, user: str) -> None:
        self.stream = self.socket = self
        self.context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.verification_is_deferred = user == BAD
        self._subject = ((("commonName", user),), (("organizationName", "group"),)) if user else ()

    def getpeercert(self, binary_form: bool = False) -> dict[str, Any] | bytes | None:
        return (b"DER" if binary_form else {"subject": self._subject}) if self._subject else None


def request(path: str, method: str = "GET", token: str = "", user: str = "") -> HTTPServerRequest:
    headers = HTTPHeaders({"Host": "n1", **({"Authorization": f"Bearer {token}"} if token else {})})
    line = RequestStartLine(method, path, "HTTP/1.1")
    made = HTTPServerRequest(start_line=line, headers=headers, connection=cast("Any", Connection(user)))
    made.protocol = "https"
    return made


def joined(api: Api, *, tokens: bool = True, webhook: bool = True, anonymous: bool = False) -> CheckedAccess:
    authenticator = Authenticator(tokens=api.reviews if tokens else None, anonymous=anonymous)
    authorizer = Webhook(api.reviews, "n1", subresources) if webhook else AlwaysAllow()
    return CheckedAccess(authenticator, authorizer, health_is_open=False)


def standalone(*, anonymous: bool = False) -> CheckedAccess:
    return CheckedAccess(Authenticator(anonymous=anonymous), AlwaysAllow(), health_is_open=True)


@pytest.mark.parametrize("token", ["", "good:alice"])
async def test_a_departed_client_is_not_authenticated(token):
    api, asked = Api(), request("/metrics", token=token)
    cast("Any", asked.connection).socket = None
    assert await joined(api, anonymous=True).check(asked) == Denial(401, "Unauthorized")
    assert api.calls == []


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/metrics", ("metrics",)),
        ("/metrics/cadvisor", ("metrics",)),
        ("/metricsx", ("proxy",)),
        ("/stats/summary", ("stats",)),
        ("/logs/a", ("log",)),
        ("/pods", ("pods", "proxy")),
        ("/runningpods/", ("pods", "proxy")),
        ("/healthz/ping", ("healthz", "proxy")),
        ("/configz", ("configz", "proxy")),
        ("/flagz", ("configz",)),
        ("/statusz", ("statusz",)),
        ("/checkpoint/a/b/c", ("checkpoint",)),
        ("/exec/a/b/c", ("proxy",)),
        ("/%70ods", ("proxy",)),
        ("//pods", ("proxy",)),
        ("/", ("proxy",)),
    ],
)
def test_each_path_has_its_subresources_of_the_node(path: str, found: tuple[str, ...]) -> None:
    assert subresources(path) == found


@given(st.text())
def test_any_path_needs_some_permission(path: str) -> None:
    assert subresources(path)


def test_methods_are_verbs() -> None:
    assert [VERBS.get(name, "") for name in ("GET", "POST", "PUT", "PATCH", "DELETE", "BREW")] == [
        "get", "create", "update", "patch", "delete", "",
    ]  # fmt: skip


async def test_a_certificate_authenticates_its_user_and_authorizes_nothing() -> None:
    api = Api()
    assert isinstance(await joined(api).check(request("/metrics", user="alice")), UserInfo)
    refusal = await joined(api).check(request("/pods", user="alice"))
    assert refusal == Denial(403, "Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[pods proxy])\n")
    spec = api.calls[0]["spec"]
    assert (spec["user"], spec["groups"]) == ("alice", ["group", "system:authenticated"])
    assert spec["resourceAttributes"] == {
        "verb": "get", "version": "v1", "resource": "nodes", "subresource": "metrics", "name": "n1",
    }  # fmt: skip


async def test_nodes_proxy_includes_the_fine_grained_subresources() -> None:
    assert isinstance(await joined(Api()).check(request("/pods", user="carol")), UserInfo)
    assert isinstance(await joined(Api()).check(request("/exec/a/b/c", "POST", user="bob")), UserInfo)
    assert isinstance(await joined(Api()).check(request("/exec/a/b/c", "GET", user="bob")), Denial)


async def test_a_token_review_is_cached_for_two_minutes_with_the_whole_user() -> None:
    api = Api()
    access = joined(api)
    for _ in range(3):
        assert isinstance(await access.check(request("/metrics", token="good:alice")), UserInfo)
    assert [call["kind"] for call in api.calls] == ["TokenReview", "SubjectAccessReview"]
    spec = api.calls[1]["spec"]
    assert (spec["groups"], spec["uid"], spec["extra"]) == (["g", "system:authenticated"], "1", {"k": ["v"]})


async def test_a_bad_token_is_refused_even_where_anonymous_callers_get_in() -> None:
    access = joined(Api(), webhook=False, anonymous=True)
    assert isinstance(await access.check(request("/pods")), UserInfo)
    assert await access.check(request("/pods", token="bad")) == Denial(401, "Unauthorized")


async def test_no_caller_is_authenticated_without_certificate_token_or_anonymous_access() -> None:
    assert await joined(Api()).check(request("/pods")) == Denial(401, "Unauthorized")
    assert await joined(Api(), tokens=False).check(request("/pods", token="good:alice")) == Denial(401, "Unauthorized")


async def test_a_silent_api_server_denies_access() -> None:
    access = joined(Api(0, 0, 0, 0, 0))
    assert await access.check(request("/metrics", token="good:alice")) == Denial(401, "Unauthorized")
    api = Api(503, 503, 503, 503, 503)
    denial = await joined(api).check(request("/metrics", user="alice"))
    assert isinstance(denial, Denial)
    assert denial.status == 500
    assert len(api.pauses) == 4, "no pause after the last attempt"


async def test_a_review_that_fails_for_a_moment_is_retried_with_growing_pauses() -> None:
    api = Api(0, 503, 429)
    assert isinstance(await joined(api).check(request("/metrics", user="alice")), UserInfo)
    assert len(api.calls) == 4
    assert api.pauses == sorted(api.pauses)
    assert 0.5 <= api.pauses[0] <= 0.6


async def test_a_denied_review_is_not_retried() -> None:
    api = Api(403)
    with pytest.raises(ReviewFailed, match="Trouble: not now"):
        await api.reviews.user_of("good:alice")
    assert (len(api.calls), api.pauses) == (1, [])
    assert await api.reviews.user_of("good:alice") == UserInfo("alice", ("g",), "1", {"k": ["v"]}), "and not remembered"


async def test_an_invalid_answer_denies_access() -> None:
    async def call(call: ApiCall) -> ApiAnswer:
        return ApiAnswer(status=201, body=b'{"status":{"authenticated":"yes"}}')

    reviews = Reviews(call, token_seconds=1, allowed_seconds=1, denied_seconds=1)
    with pytest.raises(ReviewFailed, match="cannot be read"):
        await reviews.user_of("x")


def reviews_of(
    *statuses: bytes, allowed_seconds: float = 1, denied_seconds: float = 1
) -> tuple[Reviews, list[ApiCall]]:
    """The last status is repeated."""
    calls: list[ApiCall] = []

    async def call(call: ApiCall) -> ApiAnswer:
        calls.append(call)
        return ApiAnswer(status=201, body=b'{"status":%s}' % statuses[min(len(calls), len(statuses)) - 1])

    made = Reviews(call, token_seconds=1, allowed_seconds=allowed_seconds, denied_seconds=denied_seconds)
    return made, calls


@pytest.mark.parametrize(
    "status", [b"{}", b'{"authenticated":false,"user":{"username":"a"}}', b'{"authenticated":true,"user":{}}']
)
async def test_a_token_without_a_user_name_is_refused(status: bytes) -> None:
    reviews, _ = reviews_of(status)
    assert await reviews.user_of("x") is None


async def test_an_access_review_without_allowed_denies() -> None:
    reviews, _ = reviews_of(b"{}")
    assert not await reviews.may(UserInfo("a"), "get", "metrics", "n1")


async def test_a_permission_is_remembered_longer_than_a_denial() -> None:
    denied, asked = reviews_of(b'{"allowed":false}', allowed_seconds=1000, denied_seconds=0)
    allowed, asked_once = reviews_of(b'{"allowed":true}', allowed_seconds=1000, denied_seconds=0)
    for _ in range(2):
        assert not await denied.may(UserInfo("a"), "get", "metrics", "n1")
        assert await allowed.may(UserInfo("a"), "get", "metrics", "n1")
    assert (len(asked), len(asked_once)) == (2, 1)


async def test_a_group_that_the_api_server_names_is_not_added_again() -> None:
    user = b'{"username":"a","groups":["system:authenticated"]}'
    reviews, _ = reviews_of(b'{"authenticated":true,"user":%s}' % user)
    found = await Authenticator(tokens=reviews).identify(request("/pods", token="x"))
    assert found == UserInfo("a", ("system:authenticated",))


async def test_without_tls_or_a_connection_there_is_no_certificate() -> None:
    plain, closed = request("/pods", user="alice"), request("/pods", user="alice")
    plain.protocol, closed.connection = "http", cast("Any", None)
    assert await Authenticator().identify(plain) is None
    assert await Authenticator().identify(closed) is None


async def test_a_standalone_node_requires_only_a_certificate() -> None:
    assert isinstance(await standalone().check(request("/pods", user="x")), UserInfo)
    assert await standalone().check(request("/pods", token="good:x")) == Denial(401, "Unauthorized")
    assert await standalone().check(request("/pods", user=BAD)) == Denial(401, "Unauthorized")
    assert isinstance(await OpenAccess().check(request("/pods")), UserInfo)


async def test_a_client_with_a_bad_certificate_needs_a_valid_token_and_is_never_anonymous() -> None:
    assert isinstance(await joined(Api()).check(request("/metrics", user=BAD, token="good:alice")), UserInfo)
    access = joined(Api(), webhook=False, anonymous=True)
    assert await access.check(request("/pods", user=BAD)) == Denial(401, "Unauthorized")
    assert await access.check(request("/pods", user=BAD, token="bad")) == Denial(401, "Unauthorized")
    without_tokens = joined(Api(), tokens=False, webhook=False, anonymous=True)
    assert await without_tokens.check(request("/pods", user=BAD, token="good:x")) == Denial(401, "Unauthorized")
    assert await standalone(anonymous=True).check(request("/pods", user=BAD)) == Denial(401, "Unauthorized")
    assert isinstance(await standalone(anonymous=True).check(request("/pods", user="x")), UserInfo)
    assert isinstance(await standalone(anonymous=True).check(request("/pods")), UserInfo)


async def test_a_cache_is_bounded_and_forgets_in_time() -> None:
    now, asked = [0.0], []

    async def ask(key: int) -> int:
        asked.append(key)
        return key

    cache: AnswerCache[int] = AnswerCache(lambda found: 10.0 if found else 1.0, lambda: now[0])
    for key in (0, 7, 0, 7):
        assert await cache.get(key, lambda key=key: ask(key)) == key  # type: ignore[misc]
    now[0] = 5.0
    for key in (0, 7):
        await cache.get(key, lambda key=key: ask(key))  # type: ignore[misc]
    assert asked == [0, 7, 0]
    for key in range(MAX_ANSWERS + 10):
        await cache.get(key, lambda key=key: ask(key))  # type: ignore[misc]
    assert len(cache._answers) == MAX_ANSWERS


async def test_a_review_continues_while_a_caller_waits_for_it() -> None:
    cache: AnswerCache[int] = AnswerCache(lambda _: 60.0)
    asked, ended = asyncio.Event(), asyncio.Event()

    async def ask() -> int:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    first, second = (asyncio.ensure_future(cache.get("k", ask)) for _ in range(2))
    await asked.wait()
    first.cancel()
    await asyncio.wait([first])
    assert not ended.is_set()
    second.cancel()
    await asyncio.wait_for(ended.wait(), 5)

    async def answer() -> int:
        return 7

    assert await cache.get("k", answer) == 7


async def test_callers_with_invented_tokens_have_few_requests_to_the_api_server_at_once() -> None:
    api, answer = Api(), asyncio.Event()
    under_way, most = 0, 0

    async def call(call: ApiCall) -> ApiAnswer:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await answer.wait()
        under_way -= 1
        return await api.call(call)

    reviews = Reviews(call, token_seconds=120.0, allowed_seconds=300.0, denied_seconds=30.0)
    asking = [asyncio.ensure_future(reviews.user_of(f"invented:{number}")) for number in range(100)]
    for _ in range(10):
        await asyncio.sleep(0)
    answer.set()
    assert await asyncio.gather(*asking) == [None] * 100
    assert most == MAX_CALLS
