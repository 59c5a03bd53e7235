"""A containerd that is reached through the proxy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from actors.shared.linux.parent_death import ends_with_parent
from tests.support.fork_server_process import ROOT_DIR
from tests.support.runtime import RealRuntime

from .modes import Hits, Order


class ProxiedRuntime(RealRuntime):
    """The same runtime, but that an agent is given the proxy's socket. The test itself asks the runtime."""

    def __init__(self, runtime: RealRuntime) -> None:
        super().__init__(runtime.base, runtime.host)
        self.process = runtime.process
        self._front, self._back = Path(self.base, "proxy.sock"), Path(self.base, "proxied.sock")
        self._proxy: subprocess.Popen[str] | None = None

    @property
    def configured_endpoint(self) -> str:
        return f"unix://{self._front}"

    def order(self, order: Order) -> Hits:
        """Calls meet this from now on. What the order before it met."""
        assert self._proxy is not None
        assert self._proxy.stdin is not None
        assert self._proxy.stdout is not None
        self._proxy.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._proxy.stdin.flush()
        return msgspec.json.decode(self._proxy.stdout.readline(), type=Hits)

    @contextmanager
    def proxied(self) -> Iterator[Self]:
        """The proxy runs, and has no order."""
        arguments = [str(self._front), str(self._back), self.socket]
        with Path(self.base, "proxy.log").open("ab") as log:
            self._proxy = subprocess.Popen(
                ends_with_parent([sys.executable, "-m", "tests.support.cri_proxy", *arguments]),
                cwd=ROOT_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        try:
            self.order(Order())
            yield self
        finally:
            self._proxy.kill()
            self._proxy.communicate()
            for path in (self._front, self._back):
                path.unlink(missing_ok=True)
