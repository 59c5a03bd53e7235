"""The API server for tests as a process of its own, so that it can be stopped, killed and started again."""

from __future__ import annotations

import contextlib
import http.client
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from actors.shared.linux.parent_death import ends_with_parent
from tests.support.fork_server_process import ROOT_DIR

READY_SECONDS = 60.0


class ApiProcess:
    """`folder` outlives it: objects, keys, port."""

    def __init__(self, folder: Path, *nodes: str, address: str = "127.0.0.1", **options: object) -> None:
        self.folder, self._nodes, self._address, self._options = folder, nodes, address, options
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self.ready: dict[str, Any] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> ApiProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Until it listens."""
        marker = self.folder / "ready.json"
        marker.unlink(missing_ok=True)
        flags = [f"--port={self._port}", f"--address={self._address}", *(f"--node={name}" for name in self._nodes)]
        flags += [f"--option={name}={msgspec.json.encode(value).decode()}" for name, value in self._options.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ends_with_parent([sys.executable, "-m", "tests.support.apiserver", str(self.folder), *flags]),
                cwd=ROOT_DIR,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + READY_SECONDS
        while not marker.exists():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "the API server does not start"
            time.sleep(0.01)
        self.ready = msgspec.json.decode(marker.read_bytes())
        self._port = self.ready["port"]

    def stop(self) -> None:
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """SIGSTOP and SIGCONT leave it there; of the others it ends."""
        process = self._process
        if process is None:
            return
        process.send_signal(number)
        if number not in (signal.SIGSTOP, signal.SIGCONT):
            process.wait()
            self._process = None

    @property
    def running(self) -> bool:
        return self._process is not None

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    @property
    def admin(self) -> str:
        """Path of an administrator's kubeconfig."""
        return str(self.ready["admin"])

    @property
    def ca(self) -> str:
        return str(self.ready["ca"])

    def node_kubeconfig(self, node: str) -> str:
        return str(self.ready["nodes"][node])

    def kubectl(self, *arguments: str, data: str = "", seconds: float = 30.0, check: bool = True) -> str:
        """What it prints."""
        done = self.run_kubectl(*arguments, data=data, seconds=seconds)
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def run_kubectl(self, *arguments: str, data: str = "", seconds: float = 30.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["kubectl", f"--kubeconfig={self.admin}", f"--cache-dir={self.folder}/cache", *arguments],
            input=data,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    # -- orders to it -----------------------------------------------------------------------------------------------
    def order(self, method: str, what: str, body: object = None) -> Any:
        """`/_test/<what>`, see apiserver/orders.py."""
        return self.ask(method, f"/_test/{what}", body)

    def drop_connections(self) -> None:
        """All of them, that of the order too."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.order("POST", "drop-connections")

    def fault(self, kind: str, **fields: object) -> None:
        self.order("POST", "faults", {"kind": kind, **fields})

    def no_faults(self) -> None:
        self.order("DELETE", "faults")

    def ask(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """As an administrator. Raises urllib.error.HTTPError."""
        data = msgspec.json.encode(body) if body is not None else None
        headers = {"Content-Type": content_type}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        context = ssl.create_default_context(cafile=self.ready["ca"])
        pki = self.folder / "pki"
        context.load_cert_chain(pki / "kubernetes-admin.crt", pki / "kubernetes-admin.key")
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            text = answer.read()
        return msgspec.json.decode(text) if text else None
