"""A GET that follows redirects on the same host, as Go's client does for probes and hooks."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.shared.kube.go_text import quoted

from .errors import ExchangeError
from .exchange import HttpGetResponse, get
from .request import Headers, without
from .url import Url, UrlError, parse, resolved

MAX_REDIRECTS: Final = 10
"""The limit of requests in all, as in Go."""
_FOLLOWED: Final = (301, 302, 303, 307, 308)


async def get_following(
    url: Url,
    headers: Headers,
    user_agent: str,
    seconds: float | None = None,
    whose: str = "",
    *,
    longer: bool = True,
) -> HttpGetResponse:
    """The last response; a redirect to another host is not followed. A Host of the manifest is kept only for a relative
    Location. `seconds`: limit for all requests together, None for none. `whose`: the pod for which a name is looked up.
    `longer`: see ResponseBody. Raises ExchangeError with the URL."""
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
    location, sent = "", headers
    try:
        for _ in range(MAX_REDIRECTS):
            answer = await get(url, sent, user_agent, whose, deadline, longer=longer)
            following = redirect(url, answer)
            if following is None:
                return answer
            location = answer.location
            if parse(location).scheme:
                headers = without(headers, "host")
            url, sent = following, with_referer(headers, url, following)
    except TimeoutError as problem:
        text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        raise ExchangeError(f'Get "{url}": {text}') from problem
    except ExchangeError as problem:
        raise type(problem)(f'Get "{url}": {problem}') from problem
    raise ExchangeError(f"Get {quoted(location)}: stopped after {MAX_REDIRECTS} redirects")


def redirect(url: Url, answer: HttpGetResponse) -> Url | None:
    """The next URL; None: this is the last response. Raises ExchangeError."""
    if answer.status not in _FOLLOWED or not answer.location:
        return None
    try:
        following = resolved(url, answer.location)
    except UrlError as problem:
        raise ExchangeError(f"failed to parse Location header {quoted(answer.location)}: {problem}") from problem
    return following if following.hostname == url.hostname else None


def with_referer(headers: Headers, url: Url, following: Url) -> Headers:
    """The headers of the manifest, for the request to which `url` led. A Referer of the manifest stays."""
    leaves_tls = url.scheme == "https" and following.scheme == "http"
    if leaves_tls or any(name.lower() == "referer" for name, _ in headers):
        return headers
    return [*headers, ("Referer", str(url))]
