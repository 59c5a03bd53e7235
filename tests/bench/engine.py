"""Numbers of the engine alone, as JSON: `python -m tests.bench.engine`. Nothing here asserts anything.

20 echo actors with the agent's libraries loaded: start, round trip, throughput, memory, idle CPU, kill to answering.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName
from supervision.application import Application
from supervision.message import Message, Question
from supervision.spec import ChildSpec, Policy, walk
from tests.support.fork_server_process import ForkServerProcess

COUNT = 20
ROUND_TRIPS = 3000
PIPELINED = 20_000
AT_ONCE = 4000
KILLS = 30
IDLE_SECONDS = 10.0
LIBRARIES = ("grpc", "grpc.aio", "google.protobuf.message", "msgspec.json", "cryptography.x509", "tornado.web")


class Ping(Question["Pong"], frozen=True):
    number: int


class Pong(Message, frozen=True):
    number: int


class Measure(Message, frozen=True):
    """Asks the driver for a measurement by name."""

    what: str
    name: str = "echo0"


class Measured(Message, frozen=True):
    values: dict[str, float]


class Echo(Actor):
    @on(Ping)
    def on_ping(self, message: Ping, sender: Address) -> Pong:
        return Pong(message.number)


class Driver(Actor):
    """Asks and tells; measures from inside the tree."""

    async def on_start(self) -> None:
        self._pongs = 0
        self._done: asyncio.Future[None] | None = None

    @on(Pong)
    def on_pong(self, message: Pong, sender: Address) -> None:
        self._pongs += 1
        if self._done is not None and self._pongs == PIPELINED:
            self._done.set_result(None)

    @on(Measure)
    async def on_measure(self, message: Measure, sender: Address) -> Measured:
        return Measured(await getattr(self, f"_{message.what}")(ActorName(message.name)))

    async def _round_trip(self, name: ActorName) -> dict[str, float]:
        times = []
        for number in range(ROUND_TRIPS):
            started_at = time.perf_counter()
            await self.ask(name, Ping(number))
            times.append((time.perf_counter() - started_at) * 1e6)
        times.sort()
        return {"ask_us_p50": times[ROUND_TRIPS // 2], "ask_us_p99": times[ROUND_TRIPS * 99 // 100]}

    async def _pipelined(self, name: ActorName) -> dict[str, float]:
        """Told, each answered by a tell: the receiver answers to the sender's name."""
        started_at = time.perf_counter()
        for start in range(0, PIPELINED, AT_ONCE):
            numbers = range(start, start + AT_ONCE)
            await asyncio.gather(*(self.ask(name, Ping(number), timeout=60) for number in numbers))
        asked = PIPELINED / (time.perf_counter() - started_at)
        self._pongs, self._done = 0, asyncio.get_running_loop().create_future()
        started_at = time.perf_counter()
        for number in range(PIPELINED):
            self.tell(name, Ping(number), deadline=60)
            while number - self._pongs > AT_ONCE:
                await asyncio.sleep(0.001)
        await asyncio.wait_for(self._done, 60)
        return {"asks_per_second": asked, "ping_pongs_per_second": PIPELINED / (time.perf_counter() - started_at)}


def application(run_dir: Path) -> Application:
    echoes = tuple(ChildSpec(name=f"echo{n}", actor="tests.bench.engine:Echo") for n in range(COUNT))
    tree = ChildSpec(name="root", children=(*echoes, ChildSpec(name="driver", actor="tests.bench.engine:Driver")))
    policies = {name: Policy(max_restarts=1000, memory_mib=512, backoff_seconds=0.0) for name, _, _ in walk(tree)}
    preload = (*LIBRARIES, "supervision.supervisor.supervisor", "tests.bench.engine")
    return Application(name="bench", tree=tree, policies=policies, preload=preload, run_dir=run_dir)


def _pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def _ticks(pids: list[int]) -> int:
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total


def _kills(fork_server: ForkServerProcess) -> dict[str, float]:
    times = []
    for incarnation in range(2, KILLS + 2):
        pid = fork_server.pid("echo1")
        started_at = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        while True:
            try:
                fork_server.ask(Ping(0), Pong, "echo1", timeout=0.5)
                break
            except Exception:  # noqa: BLE001 - any failure means not yet
                time.sleep(0.0005)
        times.append((time.perf_counter() - started_at) * 1e3)
        fork_server.wait_running("echo1", incarnation=incarnation)
    return {"kill_to_answering_ms_p50": statistics.median(times), "kill_to_answering_ms_max": max(times)}


def measure() -> dict[str, float]:
    """All of it; about half a minute."""
    with tempfile.TemporaryDirectory() as directory:
        started_at = time.perf_counter()
        fork_server = ForkServerProcess("tests.bench.engine:application", Path(directory) / "run")
        fork_server.wait_ready(30)
        result: dict[str, float] = {"start_to_ready_ms": (time.perf_counter() - started_at) * 1e3}
        try:
            result["fork_to_ready_ms"] = _forked_to_ready(fork_server)
            for what in ("round_trip", "pipelined"):
                result |= fork_server.ask(Measure(what), Measured, "driver", timeout=120).values
            result |= _footprint(fork_server)
            result |= _kills(fork_server)
        finally:
            fork_server.process.terminate()
            started_at = time.perf_counter()
            fork_server.wait_end(30)
            result["stop_ms"] = (time.perf_counter() - started_at) * 1e3
    return result


def _footprint(fork_server: ForkServerProcess) -> dict[str, float]:
    time.sleep(1)
    everybody = [*fork_server.processes(), fork_server.process.pid]
    actors = [fork_server.pid(f"echo{n}") for n in range(2, COUNT)]
    result = {
        "pss_kib_per_actor": statistics.median(_pss(pid) for pid in actors),
        "pss_kib_total": sum(_pss(pid) for pid in everybody),
    }
    before = _ticks(everybody)
    time.sleep(IDLE_SECONDS)
    ticks = _ticks(everybody) - before
    return result | {"idle_cpu_percent": 100 * ticks / os.sysconf("SC_CLK_TCK") / IDLE_SECONDS}


def main() -> None:
    json.dump({key: round(value, 2) for key, value in measure().items()}, sys.stdout, indent=2)
    print()


def _forked_to_ready(fork_server: ForkServerProcess) -> float:
    """From the root's fork until the last actor answered: read back from the uptimes."""
    tree = fork_server.tree()
    return (tree["root"].uptime - tree[f"echo{COUNT - 1}"].uptime) * 1e3


if __name__ == "__main__":
    # the messages are those of the module, not of __main__
    from tests.bench.engine import main as main_of_module

    main_of_module()
