"""The sweep of logs is work of a disposable process: the directory may hang, or be too large for a loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from actors.pod_workers.maintenance import SWEEP_LOGS, SWEEP_SECONDS
from supervision.actor import DisposableTimeout
from tests.support.shard_harness import NAME, Driven, pod


def test_logs_are_swept_by_a_disposable_process_that_may_miss_its_deadline(tmp_path: Path) -> None:
    async def story() -> None:
        async with Driven(tmp_path) as node:
            asked: list[dict[str, object]] = []

            def sweep(**arguments: object) -> list[str]:
                asked.append(arguments)
                if len(asked) == 1:
                    raise DisposableTimeout("Timeout", "no answer")
                return []

            node.harness.disposables[SWEEP_LOGS] = sweep
            await node.first_look()
            await node.sources(pod())
            await node.until(lambda: node.running("a"))
            await node.harness.advance(3 * SWEEP_SECONDS)
            assert len(asked) > 1, "it is tried again"
            assert asked[0]["known"] == ["u"]
            assert (asked[0]["shard"], asked[0]["logs"]) == (NAME, node.agent.pod_logs_dir)
            assert node.running("a")

    asyncio.run(story())
