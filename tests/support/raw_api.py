"""An API server asked with plain HTTP requests, so that a test sees status, headers and body as they were sent."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from actors.shared.api import kubeconfig, tls
from actors.shared.api.credentials import Credentials

Obj = dict[str, Any]
JSON, MERGE = "application/json", "application/merge-patch+json"
STRATEGIC, JSON_PATCH = "application/strategic-merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


class Answered(msgspec.Struct, frozen=True):
    """What the server sent. Names of `headers` are in lower case."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def obj(self) -> Obj:
        found: Obj = msgspec.json.decode(self.body)
        return found

    @property
    def failure(self) -> tuple[int, str, str]:
        """(code, reason, message) of a Status; the code of the answer is the Status's, too."""
        found = self.obj
        assert (found["kind"], found["apiVersion"], found["metadata"]) == ("Status", "v1", {}), found
        assert (found["status"], found["code"]) == ("Failure", self.code), found
        return found["code"], found.get("reason", ""), found["message"]

    @property
    def details(self) -> Obj:
        found: Obj = self.obj["details"]
        return found


class RawApi:
    """One request on one connection, as the user of a kubeconfig."""

    def __init__(self, path: str) -> None:
        access = kubeconfig.load(path)
        credentials = Credentials(access)
        self._url = urlsplit(access.server)
        self._headers = dict(asyncio.run(credentials.headers()))
        self._context = tls.context(access, asyncio.run(credentials.certificate()))

    def _send(
        self, method: str, path: str, body: object, query: dict[str, str] | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection(self._url.netloc, context=self._context, timeout=30)
        data = body if isinstance(body, bytes) else msgspec.json.encode(body) if body is not None else None
        whole = f"{self._url.path}{path}" + (f"?{urlencode(query)}" if query else "")
        connection.request(method, whole, data, {**self._headers, **headers})
        return connection.getresponse()

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        form: str = JSON,
        accept: str = JSON,
        query: dict[str, str] | None = None,
    ) -> Answered:
        """`body`: bytes are sent as they are, anything else as JSON."""
        headers = {"Accept": accept} | ({"Content-Type": form} if body is not None else {})
        response = self._send(method, path, body, query, headers)
        named = {name.lower(): value for name, value in response.getheaders()}
        return Answered(response.status, named, response.read())

    def get(self, path: str, **query: str) -> Obj:
        found = self("GET", path, query=query)
        assert found.code == 200, found.body
        return found.obj

    def make(self, path: str, obj: Obj) -> Obj:
        found = self("POST", path, obj)
        assert found.code in (200, 201), found.body
        return found.obj

    def patch(self, path: str, patch: object, form: str = STRATEGIC) -> Obj:
        found = self("PATCH", path, patch, form=form)
        assert found.code == 200, found.body
        return found.obj

    def watch(self, path: str, **query: str) -> Iterator[tuple[str, Obj]]:
        """(type, object) of each event until the server ends the watch."""
        response = self._send("GET", path, None, {"watch": "true", **query}, {"Accept": JSON})
        assert response.status == 200, response.read()
        with response:
            for line in response:
                event = msgspec.json.decode(line)
                yield event["type"], event["object"]

    def until_there(self, path: str, seconds: float) -> bool:
        """Whether it came within so many seconds."""
        end = time.monotonic() + seconds
        while self("GET", path).code != 200:
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True
