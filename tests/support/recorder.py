"""A web server on this host's loopback that writes down who asked for what: for hooks and probes of pods."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.support.certificates import Authority


@dataclass
class Recorder:
    """`/redirect?to=URL` is a redirect, `/status/503` that status, anything else is 200."""

    http: int
    https: int
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    """Scheme, path, User-Agent."""

    def paths(self, scheme: str = "http") -> list[str]:
        return [path for said, path, _ in list(self.calls) if said == scheme]


@contextmanager
def recording(folder: Path) -> Iterator[Recorder]:
    """Running for so long."""
    recorder = Recorder(0, 0)
    plain, secure = _server(recorder, "http"), _server(recorder, "https")
    certificate, key = Authority(folder).client("recorder")  # whose, and what for, nobody checks
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
    recorder.http, recorder.https = plain.server_address[1], secure.server_address[1]
    for server in (plain, secure):
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    try:
        yield recorder
    finally:
        for server in (plain, secure):
            server.shutdown()
            server.server_close()


def _server(recorder: Recorder, scheme: str) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            recorder.calls.append((scheme, self.path, self.headers.get("User-Agent", "")))
            url = urlsplit(self.path)
            if url.path == "/redirect":
                self._answer(302, parse_qs(url.query)["to"][0])
            else:
                self._answer(int(url.path.removeprefix("/status/")) if url.path.startswith("/status/") else 200)

        def _answer(self, status: int, location: str = "") -> None:
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Nobody reads it."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)
