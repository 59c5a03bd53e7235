"""A headless Chromium, driven by its DevTools protocol: for pages that must work in a real browser.

The protocol: https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import WebSocketClientConnection, websocket_connect

PROGRAM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or ""
_FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)  # fmt: skip
_SECONDS: Final = 60.0
_DIALOG: Final = "Page.javascriptDialogOpening"


class Page:
    """One tab. Questions of the page (confirm) are answered with yes."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self._connection, self._last = connection, 0
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        """What the console says to be wrong, and what the page raises."""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        self._last += 1
        await self._connection.write_message(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            text = await asyncio.wait_for(self._connection.read_message(), _SECONDS)
            assert text is not None, "the browser has ended"
            message = json.loads(text)
            if message.get("id") == self._last:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            await self._note(message)

    async def _note(self, message: dict[str, Any]) -> None:
        method, told = message.get("method"), message.get("params", {})
        if method == _DIALOG:
            self.dialogs.append(told["message"])
            await self._connection.write_message(
                json.dumps({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}})
            )
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(told["exceptionDetails"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")

    async def open(self, url: str) -> None:
        """Go to the address."""
        for domain in ("Page", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until the expression is true; its value."""
        end = time.monotonic() + _SECONDS
        while not (found := await self.value(expression)):
            assert time.monotonic() < end, f"{expression}; the page: {await self.value('document.body.innerText')}"
            await asyncio.sleep(0.1)
        return found

    async def click(self, selector: str) -> None:
        """Click the first element that the selector finds, once it is there. The click goes on by itself, as a
        dialog may stop the page."""
        found = f"document.querySelector({json.dumps(selector)})"
        await self.until(f"{found} !== null")
        await self.value(f"setTimeout(() => {found}.dispatchEvent(new MouseEvent('click', {{bubbles: true}})), 0), 1")

    async def screenshot(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> bytes:
        """The page as a PNG."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[feature])
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        result = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(result["data"])


@contextlib.asynccontextmanager
async def page(directory: Path) -> AsyncIterator[Page]:
    """A new browser with a profile in `directory`, and its first tab."""
    with _browser(directory) as process:
        port = await _port(directory / "DevToolsActivePort", process)
        answer = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/json/list")
        tab = next(each for each in json.loads(answer.body) if each["type"] == "page")
        connection = await websocket_connect(tab["webSocketDebuggerUrl"], max_message_size=64 << 20)
        try:
            yield Page(connection)
        finally:
            connection.close()


@contextlib.contextmanager
def _browser(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """With a directory for temporary files that goes with it: it leaves the one of its lock there, and the path of the
    socket in that is at most 107 bytes long."""
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as files:
        process = subprocess.Popen(
            [PROGRAM, *_FLAGS, f"--user-data-dir={directory}", "about:blank"],
            env={**os.environ, "TMPDIR": files},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + _SECONDS
    while not (file.exists() and file.read_text().strip()):
        assert process.poll() is None, f"{PROGRAM} has ended with {process.returncode}"
        assert time.monotonic() < end, f"{PROGRAM} does not listen"
        await asyncio.sleep(0.05)
    return int(file.read_text().split()[0])
