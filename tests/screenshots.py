"""python -m tests.screenshots FOLDER: pictures of `supervise observe`, light and dark, of an agent on a fake runtime.

`make screenshots` makes those of the README. Pods and runtime are made up; tree, incidents and figures are not.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.support.broken_node import BrokenNode, broken_node
from tests.support.browser import PROGRAM, Page, page

WIDTH, HEIGHT = 1400, 770
FAULTS = (("prober", "crash"), ("pleg", "exception"), ("pod_workers/worker/0", "crash"))


async def shoot(node: BrokenNode, folder: Path, profile: Path) -> None:
    """The tree, with an actor chosen, messages, pods with a filter, and the line of incidents."""
    command = [sys.executable, "-m", "actors.agent.command", "observe", f"--root-dir={node.root}", "-o", "json"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = json.loads(b"".join([await process.stdout.readline() for _ in range(3)]))["url"]
        async with page(profile) as shown:
            await shown.open(url)
            await shown.screenshot(width=WIDTH, height=HEIGHT)
            for actor, fault in FAULTS:
                await node.says("inject", actor, fault)
            await _shoot_pages(node, shown, folder)
    finally:
        process.terminate()
        await process.wait()


async def _shoot_pages(node: BrokenNode, shown: Page, folder: Path) -> None:
    await shown.click("tr[data-actor='pleg']")
    await shown.until("document.querySelector('#actor details') !== null")
    await asyncio.sleep(20)  # the curves need some points
    await shown.value("scrollTo(0, 0)")  # the page has scrolled to the chosen actor
    for dark in (False, True):
        name = "dark" if dark else "light"
        (folder / f"observe-tree-{name}.png").write_bytes(await shown.screenshot(width=WIDTH, height=HEIGHT, dark=dark))
    await shown.click("tr[data-actor='pleg']")  # no longer chosen: the messages of all
    await shown.click("button[data-tab='messages']")
    await shown.until("document.querySelector('svg .edge.flows') !== null")
    (folder / "observe-messages-light.png").write_bytes(await shown.screenshot(width=WIDTH, height=HEIGHT))
    node.manifest("shop", imag="nginx")  # refused: the page says why, and what mends it
    await shown.until("document.querySelector('#reasons li') !== null")
    await shown.click("button[data-tab='pods']")
    await shown.until("document.querySelector('#view tbody tr') !== null")
    await shown.value(
        "{const box = document.getElementById('filter'); box.value = 'we'; box.dispatchEvent(new Event('input'))}"
    )
    await shown.until("document.getElementById('count').textContent !== ''")
    (folder / "observe-pods-light.png").write_bytes(await shown.screenshot(width=WIDTH, height=340))
    (node.pods / "shop.json").unlink()
    await shown.value("{const box = document.getElementById('filter'); box.value = ''}")
    await shown.click("button[data-tab='incidents']")
    await shown.until("document.querySelector('svg .fault') !== null")
    await shown.value("document.querySelector('#view details').open = true")
    (folder / "observe-incidents-light.png").write_bytes(await shown.screenshot(width=WIDTH, height=560))


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as directory, tempfile.TemporaryDirectory() as profile:
        async with broken_node(Path(directory)) as node:
            for name in ("web", "database", "queue"):
                node.manifest(name)
            await node.start()
            await node.until(lambda text: text.count("Running") == 3, "pods")
            await shoot(node, folder, Path(profile))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.screenshots FOLDER")
    if not PROGRAM:
        sys.exit("there is no Chromium here: make browser")
    asyncio.run(main(Path(sys.argv[1])))
