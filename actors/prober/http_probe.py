"""HTTP probes: one GET; a status from 200 to 399 is a success.

Redirects on the same host are followed; one that leads elsewhere is a success with a warning. Certificates are not
verified, no proxy is used, no connection is kept.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final
from urllib.parse import urljoin, urlsplit

from actors.shared.kube.container import Container, HTTPGetAction
from actors.shared.kube.host_port import joined

from .http_exchange import Answer, ExchangeError, Headers, get
from .outcome import Outcome, failure, kept, success, warning
from .probe_type import ProbeType, Subject, port_number

MAX_REDIRECTS: Final = 10
"""So many requests in all, as Go counts."""
_FOLLOWED: Final = (301, 302, 303, 307, 308)


class HttpProbe(ProbeType[HTTPGetAction]):
    """To the pod's address, unless the action names a host."""

    field: ClassVar[str] = "httpGet"

    def needs_pod_ip(self, action: HTTPGetAction) -> bool:
        return not action.host

    async def run(self, action: HTTPGetAction, subject: Subject) -> Outcome:
        url = url_of(action, subject.container, subject.pod_ip)
        headers = [(header.name, header.value) for header in action.httpHeaders]
        return await probe_http(url, headers, subject.timeout_seconds)


def url_of(action: HTTPGetAction, container: Container, pod_ip: str) -> str:
    """Raises TargetError."""
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    address = joined(action.host or pod_ip, port_number(action.port, container))
    return f"{(action.scheme or 'HTTP').lower()}://{address}{path}"


async def probe_http(url: str, headers: Headers, timeout: float) -> Outcome:
    """Get it, and what it redirects to on the same host, all within the timeout."""
    try:
        async with asyncio.timeout(timeout):
            for _ in range(MAX_REDIRECTS):
                answer = await get(url, headers)
                following = redirect(url, answer)
                if following is None:
                    return judged(answer)
                url = following
    except TimeoutError:
        return failure(f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)')
    except ExchangeError as problem:
        return failure(f'Get "{url}": {problem}')
    return failure(f'Get "{url}": stopped after {MAX_REDIRECTS} redirects')


def redirect(url: str, answer: Answer) -> str | None:
    """Where to go on; None: this is the last answer. Raises ExchangeError."""
    if answer.status not in _FOLLOWED or not answer.location:
        return None
    try:
        following = urljoin(url, answer.location)
        same_host = urlsplit(following).hostname == urlsplit(url).hostname
    except ValueError as problem:
        raise ExchangeError(f'failed to parse Location header "{answer.location}": {problem}') from problem
    return following if same_host else None


def judged(answer: Answer) -> Outcome:
    if 200 <= answer.status < 300:
        return success(kept(answer.body))
    if 300 <= answer.status < 400:
        return warning(f"Probe terminated redirects, Response body: {kept(answer.body)}")
    return failure(f"HTTP probe failed with statuscode: {answer.status}")
