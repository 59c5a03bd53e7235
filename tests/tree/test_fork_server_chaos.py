"""Random faults on random actors of a small tree: at the end all is as it was. CHAOS_SEED chooses others."""

import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from supervision.actor import AskError
from supervision.protocol import Done, Inject
from tests.support.fork_server_process import ForkServerProcess, exists, fork_server_running
from tests.support.incident_file import incidents
from tests.support.tree_actors import HERE, Dispose, GetSeen, Said, Say, Seen, Tell

pytestmark = [pytest.mark.tree, pytest.mark.slow]
SECONDS = float(os.environ.get("CHAOS_SECONDS", "8"))


def _answers(fork_server: ForkServerProcess, name: str) -> bool:
    return fork_server.ask(Say("hi"), Said, name).text == "hi"


def _fault(fork_server: ForkServerProcess, rng: random.Random) -> None:
    tree = fork_server.tree()
    alive = [name for name, actor in tree.items() if actor.pid]
    if not alive:  # the root is about to be started again
        return
    name = rng.choice(alive)
    what = rng.choice(["kill", "stop", "exception", "slow", "drop", "exit", "tell", "dispose"])
    if what == "kill":
        os.kill(tree[name].pid, signal.SIGKILL)
    elif what == "tell":
        fork_server.ask(Tell(rng.choice(["echo", "listener", "group/a"]), 500, deadline=3), Said, "echo", timeout=0.5)
    elif what == "dispose":
        fork_server.ask(Dispose("nap", rng.choice([0.0, 5.0]), deadline=0.5), Said, "group/b", timeout=0.3)
    else:
        rate = {"slow": 0.01, "drop": 0.5}.get(what, 0.0)
        seconds = 0.3 if what in ("stop", "slow", "drop") else 0.0
        fork_server.ask(Inject(name=name, fault=what, rate=rate, seconds=seconds), Done, timeout=1)  # type: ignore[arg-type]


def test_after_random_faults_all_is_as_it_was(tmp_path: Path) -> None:
    seed = int(os.environ.get("CHAOS_SEED", "1"))
    print("seed", seed)
    rng = random.Random(seed)
    with fork_server_running(f"{HERE}:tough", tmp_path / "run") as fork_server:
        before = psutil.Process(fork_server.process.pid)
        fds, children = before.num_fds(), len(before.children())
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                _fault(fork_server, rng)
            except (AskError, ProcessLookupError):
                pass
            time.sleep(rng.random() * 0.2)
        time.sleep(1.5)  # an injected exception waits a second for a message
        fork_server.wait_ready()
        fork_server.wait(lambda: len(before.children()) == children, f"no process too many, seed {seed}")
        # the connection that asks
        fork_server.wait(lambda: before.num_fds() <= fds + 1, f"no descriptor too many, seed {seed}")
        for name in ("echo", "listener", "group/a", "group/b"):  # one may still have its exception before it
            fork_server.wait(partial(_answers, fork_server, name), f"{name}, seed {seed}")
        fork_server.wait_ready()
        fork_server.ask(GetSeen(), Seen, "listener")
        recorded = [(i["name"], i["incarnation"]) for i in incidents(tmp_path / "incidents")]
        assert len(recorded) == len(set(recorded)), f"seed {seed}"
        pids = fork_server.processes()
    assert not any(exists(pid) for pid in pids)
