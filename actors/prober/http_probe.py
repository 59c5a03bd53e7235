"""HTTP probes: one GET; a status from 200 to 399 is a success.

Redirects on the same host are followed; one that leads elsewhere is a success with a warning. Certificates are not
verified, no proxy is used, no connection is kept.
"""

from __future__ import annotations

from typing import ClassVar

from actors.shared.http_get.errors import ExchangeError, OwnShortageError
from actors.shared.http_get.exchange import HttpGetResponse
from actors.shared.http_get.redirects import get_following
from actors.shared.http_get.request import Headers
from actors.shared.http_get.target import headers_of, url_of
from actors.shared.http_get.url import Url
from actors.shared.kube.handlers import HTTPGetAction

from .outcome import USER_AGENT, ProbeOutcome, error, failure, kept, success, warning
from .probe_type import ProbeType, Subject


class HttpProbe(ProbeType[HTTPGetAction]):
    """An HTTP probe of the pod's address, unless the action names a host."""

    field: ClassVar[str] = "httpGet"

    def needs_pod_ip(self, action: HTTPGetAction) -> bool:
        return not action.host

    async def run(self, action: HTTPGetAction, subject: Subject) -> ProbeOutcome:
        url = url_of(action, subject.container.ports, subject.pod_ip)
        return await probe_http(url, headers_of(action), subject.timeout_seconds, subject.key[0])


async def probe_http(url: Url, headers: Headers, timeout: float, whose: str = "") -> ProbeOutcome:
    """Get the URL, following redirects on the same host, within the timeout. `whose`: the pod's UID."""
    try:
        return outcome_of(await get_following(url, headers, USER_AGENT, timeout, whose))
    except OwnShortageError as problem:
        return error(str(problem))
    except ExchangeError as problem:
        return failure(str(problem))


def outcome_of(answer: HttpGetResponse) -> ProbeOutcome:
    """An answer whose body is incomplete proves nothing, whatever its status."""
    if answer.broken:
        return error(answer.broken, "failure")
    if 200 <= answer.status < 300:
        return success(kept(answer.body))
    if 300 <= answer.status < 400:
        return warning(f"Probe terminated redirects, Response body: {kept(answer.body)}")
    return failure(f"HTTP probe failed with statuscode: {answer.status}")
