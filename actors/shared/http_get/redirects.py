"""A GET that follows redirects on the same host, as Go's client does for probes and hooks."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import urljoin, urlsplit

from .exchange import ExchangeError, Headers, HttpGetResponse, get

MAX_REDIRECTS: Final = 10
"""The limit of requests in all, as in Go."""
_FOLLOWED: Final = (301, 302, 303, 307, 308)


async def get_following(
    url: str, headers: Headers, user_agent: str, seconds: float | None = None, whose: str = ""
) -> HttpGetResponse:
    """The last response; a redirect to another host is not followed. `seconds`: limit for all requests together, None
    for none. `whose`: the pod for which a name is looked up. Raises ExchangeError with the URL."""
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
    try:
        for _ in range(MAX_REDIRECTS):
            answer = await get(url, headers, user_agent, whose, deadline)
            following = redirect(url, answer)
            if following is None:
                return answer
            url = following
    except TimeoutError as problem:
        text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        raise ExchangeError(f'Get "{url}": {text}') from problem
    except ExchangeError as problem:
        raise ExchangeError(f'Get "{url}": {problem}') from problem
    raise ExchangeError(f'Get "{url}": stopped after {MAX_REDIRECTS} redirects')


def redirect(url: str, answer: HttpGetResponse) -> str | None:
    """The next URL; None: this is the last response. Raises ExchangeError."""
    if answer.status not in _FOLLOWED or not answer.location:
        return None
    try:
        following = urljoin(url, answer.location)
        same_host = urlsplit(following).hostname == urlsplit(url).hostname
    except ValueError as problem:
        raise ExchangeError(f'failed to parse Location header "{answer.location}": {problem}') from problem
    return following if same_host else None
