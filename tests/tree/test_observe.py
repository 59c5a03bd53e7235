"""`supervise observe` with a whole agent and a real browser."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.agent_command import HARMLESS, START, AgentCommand
from tests.support.browser import PROGRAM, Page, page
from tests.support.tcp_ports import free_port

pytestmark = pytest.mark.tree
needs_browser = pytest.mark.skipif(not PROGRAM, reason="there is no Chromium here")
WITH_KEY = "{ headers: { 'X-Observe-Key': localStorage.getItem('key') } }"
"""A question of the page's own."""
COMMAND = [sys.executable, "-m", "actors.agent.command", "observe"]
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: "web", namespace: shop}
spec: {containers: [{name: main, image: nginx}]}
"""


@pytest.fixture(scope="module")
def root_dir() -> Iterator[Path]:
    """That of an agent without a runtime, with one pod that waits and one manifest that is refused."""
    with tempfile.TemporaryDirectory(prefix="observed-") as directory:
        root, pods = Path(directory) / "root", Path(directory) / "pods"
        pods.mkdir()
        (pods / "web.yaml").write_text(POD)
        (pods / "bad.yaml").write_text(POD.replace("image", "imag"))
        flags = [
            f"--root-dir={root}", f"--pod-manifest-path={pods}", f"--port={free_port()}", "--healthz-port=0",
            "--hostname-override=n1", f"--container-runtime-endpoint=unix://{directory}/none.sock",
        ]  # fmt: skip
        with AgentCommand([*START, *HARMLESS, *flags], root) as agent:
            agent.wait_ready()
            yield root


@contextmanager
def observing(root_dir: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The link that it prints, and its process."""
    command = [*COMMAND, f"--root-dir={root_dir}", "-o", "json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        yield json.loads("".join(lines))["url"], process
    except AssertionError as error:
        error.add_note(f"exit code of supervise observe: {process.poll()}")
        raise
    finally:
        process.kill()
        process.communicate()


@needs_browser
def test_the_page_shows_the_tree_the_pods_and_a_fault_that_it_has_injected(root_dir: Path, tmp_path: Path) -> None:
    async def look(shown: Page, url: str) -> None:
        await shown.open(url)
        await shown.until("document.querySelector(\"tr[data-actor='pleg']\") !== null")
        names = await shown.value("[...document.querySelectorAll('tr[data-actor]')].map(row => row.dataset.actor)")
        assert {"root", "pleg", "http_servers/node_server", "pod_workers/worker/0"} <= set(names)
        await shown.click("tr[data-actor='pleg']")
        inside = "document.querySelector('#actor h2').getBoundingClientRect().top < innerHeight"
        assert await shown.value(f"document.querySelector('#actor') !== null && {inside}"), "it is not below the window"
        await shown.click("#actor button[data-fault='crash']")
        await shown.until("document.querySelector('.notice').textContent === 'crash injected into pleg'")
        assert len(shown.dialogs) == 1
        assert shown.dialogs[0].startswith("Inject crash into pleg?")
        await shown.until("document.querySelector('#actor details') !== null")
        await shown.click("button[data-tab='incidents']")
        await shown.until("document.querySelector('svg .fault') !== null")
        assert "pleg#1" in await shown.value("document.querySelector('#view details').textContent")
        await shown.click("button[data-tab='pods']")
        await shown.until("document.querySelector('#view').textContent.includes('web-n1')")
        assert "refused: " in await shown.value("document.querySelector('#view').textContent")
        await _filter(shown)
        for dark in (False, True):
            assert (await shown.screenshot(dark=dark)).startswith(b"\x89PNG")
        grounds = await shown.value("getComputedStyle(document.body).backgroundColor")
        assert grounds == "rgb(20, 23, 28)"
        assert shown.errors == []

    async def run() -> None:
        with observing(root_dir) as (url, _):
            async with page(tmp_path) as shown:
                await look(shown, url)

    asyncio.run(run())


async def _filter(shown: Page) -> None:
    """Of many rows those with a text are shown, while one types."""
    rows = "document.querySelectorAll('#view tbody tr').length"
    field = "document.querySelector('#filter')"
    typed = f"{field}.value = {{}}; {field}.dispatchEvent(new Event('input'))"
    await shown.value(typed.format("'nothing like this'"))
    assert await shown.value(rows) == 0
    assert (await shown.value("document.querySelector('#count').textContent")).startswith("0 of ")
    await shown.value(typed.format("' WEB-N1'"))
    assert await shown.value(rows) == 1
    assert await shown.value("document.querySelector('#view tbody .running, #view tbody .degraded') !== null")
    await shown.click("button[data-tab='tree']")
    await shown.until("document.querySelector('#search').hidden")
    await shown.click("button[data-tab='pods']")
    await shown.until("!document.querySelector('#search').hidden")
    data = {"header": ["READY", "STATUS"], "rows": [["0/1", "Running"], ["2/2", "Running"], ["0/1", "Completed"]]}
    drawn = f"import('/views.js').then(views => views.rowsView({json.dumps(data)}, '', ''))"
    coloured = "[...view[0].querySelectorAll('span.degraded')].map(each => each.textContent)"
    assert await shown.value(f"{drawn}.then(view => {coloured})") == ["0/1"], "it runs, and is not ready"


@needs_browser
def test_a_wedged_actor_delays_neither_tree_nor_keys_in_a_narrow_window(root_dir: Path, tmp_path: Path) -> None:
    """pod_config, which health and pods are asked of, is stopped."""

    async def look(shown: Page, url: str) -> None:
        await shown.open(url)
        await shown.until("document.querySelector(\"tr[data-actor='pleg']\") !== null")
        await shown.until("document.querySelector('#state').textContent === 'degraded'")
        found = f"fetch('/data/tree', {WITH_KEY}).then(answer => answer.json()).then(data => data.tree.actors)"
        pid = await shown.value(f"{found}.then(actors => actors.find(each => each.name === 'pod_config').pid)")
        os.kill(pid, signal.SIGSTOP)
        try:
            await shown.until(
                "document.querySelector('#reasons').textContent.includes('pod_config: stopped by a signal')"
            )
            told = await shown.value("document.querySelector('#reasons').textContent")
            assert f"→ kill -CONT {pid}" in told, "what mends it, as `supervise status` has it"
            before = await shown.value("document.querySelector('#figures').textContent")
            await shown.until(f"document.querySelector('#figures').textContent !== {json.dumps(before)}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        for key, tab in (("ArrowRight", "messages"), ("ArrowRight", "incidents"), ("ArrowLeft", "messages")):
            await shown.call("Input.dispatchKeyEvent", type="keyDown", key=key)
            await shown.until(f"document.querySelector('button[aria-selected=true]').dataset.tab === '{tab}'")
        await shown.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft")
        await shown.screenshot(width=400, height=800)
        await shown.until("document.querySelector(\"tr[data-actor='pleg']\") !== null")
        assert await shown.value("document.documentElement.scrollWidth") <= 400
        assert [error for error in shown.errors if "503" not in error] == [], "503: an actor does not answer"

    async def run() -> None:
        with observing(root_dir) as (url, _):
            async with page(tmp_path) as shown:
                await look(shown, url)

    asyncio.run(run())


@needs_browser
def test_messages_between_actors_are_lines_with_counts_and_a_wedged_actor_is_named(
    root_dir: Path, tmp_path: Path
) -> None:
    edge = "document.querySelector(\"[data-edge='status_manager prober']\")"
    cell = "[...document.querySelectorAll('#view td')].some(cell => cell.textContent === '{}')"

    async def look(shown: Page, url: str) -> None:
        await shown.open(url)
        await shown.click("button[data-tab='messages']")
        await shown.until(f"{edge} !== null")
        assert "Hello: 1" in await shown.value(f"{edge}.querySelector('title').textContent")
        assert not await shown.value(cell.format("GetMessageFlow")), "the page does not show itself"
        await shown.value(f"fetch('/data/pods', {WITH_KEY}).then(answer => answer.text())")
        await shown.until(cell.format("GetPods"))  # what it has asked the status manager
        chosen = "document.querySelector(\"[data-end='pod_config']\")"
        await shown.value(f"{chosen}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        await shown.until("document.querySelector('#view h2').textContent === 'Messages of pod_config'")
        found = f"fetch('/data/tree', {WITH_KEY}).then(answer => answer.json()).then(data => data.tree.actors)"
        pid = await shown.value(f"{found}.then(actors => actors.find(each => each.name === 'prober').pid)")
        os.kill(pid, signal.SIGSTOP)
        try:
            await shown.until("document.querySelector('#view').textContent.includes('prober did not answer')")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        for dark in (False, True):
            await shown.screenshot(width=400, height=800, dark=dark)
            assert await shown.value("document.documentElement.scrollWidth") <= 400
        assert [error for error in shown.errors if "503" not in error] == []

    async def run() -> None:
        with observing(root_dir) as (url, _):
            async with page(tmp_path) as shown:
                await look(shown, url)

    asyncio.run(run())


@needs_browser
def test_the_page_asks_actors_only_every_five_seconds(root_dir: Path, tmp_path: Path) -> None:
    async def run() -> None:
        with observing(root_dir) as (url, _):
            async with page(tmp_path) as shown:
                await shown.open(url)
                count = "performance.getEntriesByType('resource').filter(each => each.name.endsWith('/data/{}')).length"
                await shown.until(f"{count.format('tree')} >= 8")
                assert 1 <= await shown.value(count.format("health")) <= 3

    asyncio.run(run())


@needs_browser
def test_a_read_only_page_offers_no_fault_and_a_dead_command_is_reported(root_dir: Path, tmp_path: Path) -> None:
    async def run() -> None:
        with observing(root_dir, "--read-only") as (url, process):
            async with page(tmp_path) as shown:
                await shown.open(url)
                await shown.click("tr[data-actor='pleg']")
                await shown.until("document.querySelector('#actor') !== null")
                assert await shown.value("document.querySelectorAll('button[data-fault]').length") == 0
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
                await shown.until("document.querySelector('#reasons').textContent.includes('has ended')")
                await shown.until("document.querySelector('#view').className === 'old'")
                assert await shown.value("document.querySelector('#figures').textContent") == "", (
                    "nothing is in service"
                )
                assert await shown.value("document.title") == "down - Troupelet"

    asyncio.run(run())


@needs_browser
def test_a_slow_click_the_focus_and_what_is_scrolled_outlast_a_refresh(root_dir: Path, tmp_path: Path) -> None:
    refreshed = "performance.getEntriesByType('resource').filter(each => each.name.endsWith('/data/tree')).length"

    async def refreshes(shown: Page) -> None:
        seen = await shown.value(refreshed)
        await shown.until(f"{refreshed} >= {seen + 3}")

    async def look(shown: Page, url: str) -> None:
        await shown.open(url)
        await shown.until("document.querySelector(\"tr[data-actor='pleg']\") !== null")
        await shown.screenshot(width=600, height=900)
        row = "document.querySelector(\"tr[data-actor='pleg'] .name\").getBoundingClientRect()"
        await shown.until("document.querySelector('#reasons').children.length > 0")
        x, y = await shown.value(f"[{row}.x + 5, {row}.y + 5]")
        button = {"x": x, "y": y, "button": "left", "clickCount": 1}
        await shown.call("Input.dispatchMouseEvent", type="mousePressed", **button)
        await refreshes(shown)
        await shown.call("Input.dispatchMouseEvent", type="mouseReleased", **button)
        await shown.until("document.querySelector('#actor h2')?.textContent === 'pleg'")

        await shown.value("document.querySelector('button[data-fault=crash]').focus()")
        await refreshes(shown)
        assert await shown.value("document.activeElement.dataset.fault") == "crash"

        await shown.click("button[data-tab='pods']")
        await shown.until("document.querySelector('#view td') !== null && document.querySelector('#actor') === null")
        await shown.screenshot(width=300, height=900)
        await shown.value("document.querySelector('.scroll').scrollLeft = 40")
        await refreshes(shown)
        assert await shown.value("document.querySelector('.scroll').scrollLeft") == 40

    async def run() -> None:
        with observing(root_dir) as (url, _):
            async with page(tmp_path) as shown:
                await look(shown, url)

    asyncio.run(run())


@needs_browser
def test_keys_alone_reach_an_actor_a_receiver_and_an_incident(root_dir: Path, tmp_path: Path) -> None:
    async def press(shown: Page, selector: str, key: str, code: int) -> None:
        await shown.until(f"document.querySelector({json.dumps(selector)}) !== null")
        await shown.value(f"document.querySelector({json.dumps(selector)}).focus()")
        await shown.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code)

    async def look(shown: Page, url: str) -> None:
        await shown.open(url)
        await press(shown, "tr[data-actor='prober']", " ", 32)
        await shown.until("document.querySelector('#actor h2')?.textContent === 'prober'")
        await shown.click("#actor button[data-fault='crash']")
        await shown.until("document.querySelector('#notice').textContent === 'crash injected into prober'")
        await shown.click("button[data-tab='messages']")
        receiver = "[data-end='status_manager'][data-side='start']"
        await press(shown, receiver, "Enter", 13)
        await shown.until(f"document.querySelector(\"{receiver}\").classList.contains('picked')")
        assert await shown.value("document.activeElement.dataset.side") == "start", "it is also a sender"
        await shown.click("button[data-tab='incidents']")
        await press(shown, "svg [data-dot*='-prober-']", "Enter", 13)
        await shown.until("document.querySelector('details[open]')?.textContent.includes('prober#')")

    async def run() -> None:
        with observing(root_dir) as (url, _):
            async with page(tmp_path) as shown:
                await look(shown, url)

    asyncio.run(run())


def test_observe_without_an_agent_reports_that(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, f"--root-dir={tmp_path}"], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "no agent is running" in done.stderr


def test_a_port_that_is_taken_is_named(root_dir: Path) -> None:
    with observing(root_dir) as (url, _):
        port = url.split(":")[2].partition("/")[0]
        command = [*COMMAND, f"--root-dir={root_dir}", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 4
        assert f"port {port} cannot be opened: Address already in use" in done.stderr
