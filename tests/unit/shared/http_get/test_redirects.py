"""Redirects of probes and hooks: which are followed, and what the next request says."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.http_get import redirects
from actors.shared.http_get.errors import ExchangeError
from actors.shared.http_get.exchange import HttpGetResponse
from actors.shared.http_get.redirects import get_following
from actors.shared.http_get.request import Headers
from actors.shared.http_get.url import Url, parse

Asked = list[tuple[str, Headers]]


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Any:
    async def following(*locations: str, headers: Headers) -> tuple[HttpGetResponse, Asked]:
        """The last answer, and what was asked, of a server that answers with these, and then with 200."""
        asked: Asked = []

        async def get(url: Url, headers: Headers, *_: Any, **more: Any) -> HttpGetResponse:
            asked.append((str(url), headers))
            location = locations[len(asked) - 1] if len(asked) <= len(locations) else ""
            return HttpGetResponse(302 if location else 200, location, b"")

        monkeypatch.setattr(redirects, "get", get)
        return await get_following(parse("http://h:1/a"), headers, "me"), asked

    return following


HOST = ("Host", "web.local")


async def test_a_relative_location_keeps_the_host_of_the_manifest_and_names_the_page_that_led_there(follow):
    _, asked = await follow("/b", "/c", headers=[HOST])
    assert asked == [
        ("http://h:1/a", [HOST]),
        ("http://h:1/b", [HOST, ("Referer", "http://h:1/a")]),
        ("http://h:1/c", [HOST, ("Referer", "http://h:1/b")]),
    ]


async def test_after_an_absolute_location_the_host_is_that_of_the_url(follow):
    _, asked = await follow("http://h:2/b", "/c", headers=[HOST])
    assert [headers for _, headers in asked[1:]] == [[("Referer", "http://h:1/a")], [("Referer", "http://h:2/b")]]


async def test_a_referer_of_the_manifest_stays_and_none_goes_from_https_to_http(follow):
    _, asked = await follow("/b", headers=[("referer", "x")])
    assert asked[1] == ("http://h:1/b", [("referer", "x")])
    _, asked = await follow("https://h/b", "http://h/c", headers=[])
    assert asked[2] == ("http://h/c", [])


async def test_a_redirect_to_another_host_is_the_last_answer(follow):
    answer, asked = await follow("//other:1/b", headers=[])
    assert (answer.status, len(asked)) == (302, 1)


async def test_the_redirect_over_the_limit_is_reported_verbatim(follow):
    with pytest.raises(ExchangeError) as refused:
        await follow(*["/again"] * 10, headers=[])
    assert str(refused.value) == 'Get "/again": stopped after 10 redirects'


async def test_a_location_that_is_no_url_fails_the_request_that_answered_it(follow):
    with pytest.raises(ExchangeError) as refused:
        await follow("/b", "http://h:x/", headers=[])
    text = 'failed to parse Location header "http://h:x/": parse "http://h:x/": invalid port ":x" after host'
    assert str(refused.value) == f'Get "http://h:1/b": {text}'


async def test_a_redirect_to_no_host_fails():
    with pytest.raises(ExchangeError, match="http: no Host in request URL"):
        await get_following(parse("http:x"), [], "me")
