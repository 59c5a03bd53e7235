"""A registry of images on 127.0.0.1 that wants a name and a password, with one image that has nothing in it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import socket
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_OCI = "application/vnd.oci.image"
_TLS_HANDSHAKE = b"\x16"


class Registry:
    """with Registry(robot="secret") as registry: registry.image; `users` are who asked with a right password."""

    def __init__(self, **accounts: str) -> None:
        self.accounts = accounts
        self.users: set[str] = set()
        self.blobs, self._manifest = _image()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def handle(self) -> None:
                if self.connection.recv(1, socket.MSG_PEEK) == _TLS_HANDSHAKE:
                    self.wfile.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")  # a runtime then tries without TLS
                else:
                    super().handle()

            def do_GET(self) -> None:
                registry.answer(self)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.image = f"{self.host}/private/app:1"

    def __enter__(self) -> Registry:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def docker_config(self, user: str) -> bytes:
        entry = {"username": user, "password": self.accounts.get(user, "wrong")}
        return json.dumps({"auths": {self.host: entry}}).encode()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        if not self._may(request.headers.get("Authorization", "")):
            request.send_response(401)
            request.send_header("WWW-Authenticate", 'Basic realm="private"')
            request.end_headers()
            return
        name = request.path.rpartition("/")[2]
        body, kind = self.blobs.get(name), "application/octet-stream"
        if "/manifests/" in request.path:
            body, kind = self._manifest, f"{_OCI}.manifest.v1+json"
        body = b"{}" if request.path == "/v2/" else body
        request.send_response(200 if body is not None else 404)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body or b"")))
        request.send_header("Docker-Content-Digest", _digest(body or b""))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(body or b"")

    def _may(self, header: str) -> bool:
        kind, _, value = header.partition(" ")
        if kind != "Basic":
            return False
        user, _, password = base64.b64decode(value).decode().partition(":")
        if self.accounts.get(user) != password:
            return False
        self.users.add(user)
        return True


def _image() -> tuple[dict[str, bytes], bytes]:
    """Blobs by digest, and the manifest."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as layer:
        layer.addfile(tarfile.TarInfo("empty"))
    packed = gzip.compress(raw.getvalue(), mtime=0)
    parts = {"type": "layers", "diff_ids": [_digest(raw.getvalue())]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": parts}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_OCI}.manifest.v1+json",
        "config": {"mediaType": f"{_OCI}.config.v1+json", "digest": _digest(config), "size": len(config)},
        "layers": [{"mediaType": f"{_OCI}.layer.v1.tar+gzip", "digest": _digest(packed), "size": len(packed)}],
    }
    return {_digest(config): config, _digest(packed): packed}, json.dumps(manifest).encode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
