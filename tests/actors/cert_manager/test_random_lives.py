"""Random sequences of faults on a joining node: in the end it has a usable certificate."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from actors.cert_manager.actor import CHECK_SECONDS
from supervision.testing.harness import Harness
from tests.support.apiserver import signing
from tests.support.apiserver.server import ApiServer
from tests.support.certified_node import CSRS, USER, Node, decide

pytestmark = pytest.mark.slow

STEPS = 25
HOUR = 3600.0


class Life:
    """A node and its faults; each public method is one fault."""

    def __init__(self, node: Node, rng: random.Random) -> None:
        self.node, self._rng, self._up = node, rng, True
        self.harness: Harness | None = None

    async def start(self) -> None:
        self.harness = node_harness = self.node.start()
        await node_harness.__aenter__()

    async def crash(self) -> None:
        """Nothing but files is left; what the actor raised comes out here."""
        assert self.harness is not None
        harness, self.harness = self.harness, None
        await harness.__aexit__(None, None, None)
        await self.start()

    async def time(self) -> None:
        assert self.harness is not None
        await self.node.pass_time(self.harness, self._rng.choice((10, 60, 300)))

    async def jump(self) -> None:
        self.node.offset = self._rng.choice((0.0, 0.0, -9e8, 9e8, HOUR / 2, -HOUR))

    async def outage(self) -> None:
        self._up = not self._up
        await (self.node.server.start() if self._up else self.node.server.stop())

    async def damage(self) -> None:
        names = [*self.node.pki.glob("kubelet-client*"), self.node.kubeconfig]
        path = self._rng.choice(names)
        if path.exists():
            kept = path.read_bytes()
            path.write_bytes(kept[: self._rng.choice((0, 30, len(kept) // 2))])

    async def removal(self) -> None:
        for path in [*self.node.pki.glob("kubelet-client*"), self.node.kubeconfig]:
            if self._rng.random() < 0.3 and os.path.lexists(path):
                path.unlink()

    async def denial(self) -> None:
        self.node.server.options.auto_approve = False
        for csr in self.node.server.items(CSRS):
            if signing.condition(csr, "Approved") is None and signing.condition(csr, "Denied") is None:
                decide(self.node, self._rng.choice(("Denied", "Approved")), csr["metadata"]["name"])

    async def faults(self) -> None:
        kind, code = self._rng.choice((("drop", 0), ("lost", 0), ("status", 500)))
        self.node.server.fault(kind, resource=CSRS, times=2, code=code)

    async def good_end(self) -> None:
        """All that may go wrong has ended; then there is a certificate within the longest pause."""
        node = self.node
        node.offset, node.server.options.auto_approve = 0.0, True
        node.server.faults.clear()
        if not self._up:
            await node.server.start()
        for csr in node.server.items(CSRS):
            decide(node, "Approved", csr["metadata"]["name"])
        assert self.harness is not None
        for _ in range(200):
            await self.node.pass_time(self.harness, CHECK_SECONDS)
            if await self._works():
                return
        raise AssertionError("no certificate that works")

    async def _works(self) -> bool:
        try:
            return await self.node.who_am_i() == USER
        except Exception:  # noqa: BLE001 - a kubeconfig that is not there, half a certificate: not yet
            return False


EVENTS = ("crash", "time", "time", "jump", "outage", "damage", "removal", "denial", "faults")


@pytest.mark.parametrize("seed", range(12))
def test_after_any_faults_the_node_has_a_usable_certificate(tmp_path: Path, seed: int) -> None:
    async def story() -> None:
        rng = random.Random(seed)
        async with ApiServer(tmp_path / "server") as server:
            life = Life(Node(tmp_path, server), rng)
            await life.start()
            for _ in range(STEPS):
                await getattr(life, rng.choice(EVENTS))()
                await asyncio.sleep(rng.choice((0, 0.02)))
            await life.good_end()
            assert life.harness is not None
            await life.harness.__aexit__(None, None, None)
            assert len(server.items(CSRS)) <= 2 * STEPS

    asyncio.run(asyncio.wait_for(story(), 100))
