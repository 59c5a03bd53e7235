"""Parts of the fork server that need no processes: lock, loop, order of the stop, status page, black box."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from supervision.application import NoIncidents, ShownFiles
from supervision.fork_server.child_checks import RecentDelay, Watch, tick_seconds
from supervision.fork_server.connection import ProcessConnection
from supervision.fork_server.control import Control
from supervision.fork_server.history import CONFIRMATION_SECONDS
from supervision.fork_server.lock import AlreadyRunning, Lock, holder_of
from supervision.fork_server.loop import Loop
from supervision.fork_server.oom_kills import OomKills
from supervision.fork_server.parts import ForkServerParts
from supervision.fork_server.policies import Policies, PolicyOrders
from supervision.fork_server.process_entry import ProcessEntry
from supervision.fork_server.process_table import ProcessTable
from supervision.fork_server.programs import accepts
from supervision.fork_server.run_directory import RunDirectory
from supervision.fork_server.shutdown import OrderedStop
from supervision.process.blackbox import BlackBox
from supervision.process.status_page import StatusPage, padded
from supervision.process_messages import ServiceState
from supervision.protocol import GetTree, Tree
from supervision.spec import ChildSpec, Policy
from tests.support.no_disks import no_disks
from tests.support.present import present

pytestmark = pytest.mark.slow

TREE = ChildSpec(
    name="root",
    children=(
        ChildSpec(name="a", actor="x:A"),
        ChildSpec(name="s", children=(ChildSpec(name="b", actor="x:B"), ChildSpec(name="c", actor="x:C"))),
        ChildSpec(name="d", actor="x:D"),
    ),
)


def test_the_lock_names_its_holder_and_goes_with_it(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    with pytest.raises(AlreadyRunning, match=f"an agent with pid {os.getpid()} already runs on {tmp_path}"):
        Lock(tmp_path)
    lock.release()
    assert list(tmp_path.iterdir()) == []
    Lock(tmp_path).release()


def test_a_lock_whose_file_is_removed_holds_and_makes_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervision.fork_server.lock._PATIENCE_SECONDS", 0.02)
    lock = Lock(tmp_path)
    (tmp_path / "lock").unlink()
    with pytest.raises(AlreadyRunning):
        Lock(tmp_path)
    lock.restore(janitor=0)
    assert holder_of(tmp_path) == os.getpid()
    lock.release()
    assert list(tmp_path.iterdir()) == []
    Lock(tmp_path).release()


def test_a_lock_whose_file_cannot_be_removed_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        Lock(tmp_path).release()
    Lock(tmp_path).release()


def test_a_command_that_looks_at_the_lock_refuses_no_agent_though_the_old_pid_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lock"
    file.write_text(f"{os.getppid()}\n")
    looking = os.open(file, os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("supervision.fork_server.lock.time.sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
    lock = Lock(tmp_path)
    assert holder_of(tmp_path) == os.getpid()
    lock.release()
    os.close(looking)


def test_one_run_directory_has_one_agent_whatever_other_lock_it_holds(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "run", tmp_path / "state-1")
    with pytest.raises(AlreadyRunning, match=str(tmp_path / "run")):
        RunDirectory(tmp_path / "run", tmp_path / "state-2")
    assert first.names.is_there(), "the second has removed nothing"
    assert list((tmp_path / "state-2").iterdir()) == [], "the lock that it had taken is released"
    first.remove()
    RunDirectory(tmp_path / "run", tmp_path / "state-2").remove()


def test_a_socket_that_is_removed_while_the_others_are_looked_at_is_seen_at_the_next_look(tmp_path: Path) -> None:
    """Also when the file system's clock has not moved on since."""
    directory, file = RunDirectory(tmp_path), tmp_path / "names" / "pleg"
    file.touch()
    then = file.parent.stat()
    due: list[Any] = []
    loop: Any = SimpleNamespace(call_later=lambda _seconds, call: due.append(call))
    seen: list[bool] = []

    def look() -> bool:
        seen.append(file.exists())
        file.unlink(missing_ok=True)
        os.utime(file.parent, ns=(then.st_atime_ns, then.st_mtime_ns))
        return True

    directory.watch(loop, lambda: None, look)
    due.pop()()
    assert seen == [True, False]
    due.pop()()
    assert seen == [True, False], "nothing has changed since"
    directory.remove()


def test_the_second_lock_is_looked_at_only_once_its_disk_has_answered(tmp_path: Path) -> None:
    directory, file = RunDirectory(tmp_path / "run", tmp_path / "state"), tmp_path / "state" / "lock"
    due: list[tuple[float, Any]] = []
    loop: Any = SimpleNamespace(call_later=lambda seconds, call: due.append((seconds, call)))
    asked: list[Any] = []
    paths: list[Path] = []

    def guard_of(path: Path) -> Any:
        paths.append(path)
        return asked.append

    directory.watch_other_lock(loop, guard_of)
    file.unlink()
    pauses = []
    for _ in range(8):
        seconds, ask = due.pop()
        pauses.append(seconds)
        ask()
        assert due == [], "it waits for the answer"
        asked.pop()("the disk does not answer")
        assert not file.exists()
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] == due[0][0], "a disk that hangs is asked ever more rarely, up to a limit"
    due.pop()[1]()
    asked.pop()("")
    assert file.exists()
    assert due[0][0] == pauses[0]
    assert set(paths) == {file}
    directory.remove()


def test_the_holder_of_a_lock_is_reported_without_taking_it(tmp_path: Path) -> None:
    assert holder_of(tmp_path) == 0
    lock = Lock(tmp_path)
    assert holder_of(tmp_path) == os.getpid()
    lock.release()
    assert (holder_of(tmp_path), list(tmp_path.iterdir())) == (0, [])


def test_timers_run_in_order_of_their_time_and_not_when_cancelled() -> None:
    loop, ran = Loop(), []
    loop.call_later(0.02, lambda: ran.append("late"))
    loop.call_later(0.0, lambda: ran.append("early"))
    loop.call_later(0.01, lambda: ran.append("never")).cancel()
    loop.call_later(0.03, loop.stop)
    loop.run()
    assert ran == ["early", "late"]


def test_each_wake_looks_for_ended_processes_as_a_full_pipe_loses_signals() -> None:
    loop, seen, before = Loop(), list[str](), signal.getsignal(signal.SIGCHLD)

    def reap() -> None:
        seen.append("reap")
        loop.stop()

    try:
        loop.on_signal(signal.SIGCHLD, reap)
        os.write(loop.fds()[2], bytes([signal.SIGUSR1]) * 3)
        loop.call_later(5, loop.stop)
        loop.run()
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, before)
    assert seen == ["reap"]


def test_everything_is_stopped_in_reverse_order_children_before_their_supervisor() -> None:
    table, stopped = ProcessTable(TREE, {}), []
    for child in table:
        child.state = "running"
    present(table.get("s/b")).state = "down"
    done = []

    def stop(child: ProcessEntry, budget: float) -> None:
        stopped.append((child.name, budget))

    order = OrderedStop(table, stop, lambda: done.append(True))
    order.start()
    for name in ("d", "s/c", "s", "a", "root"):
        assert stopped[-1][0] == name
        assert not done
        child = present(table.get(name))
        child.state = "down"
        order.ended(child)
    assert done == [True]
    assert stopped[0] == ("d", Policy().shutdown_seconds)


def test_the_actors_below_a_supervisor() -> None:
    table = ProcessTable(TREE, {})
    assert [child.name for child in table.below("root")] == ["a", "s", "s/b", "s/c", "d"]
    assert [child.name for child in table.below("s")] == ["s/b", "s/c"]
    assert table.below("a") == []


def test_the_descriptors_of_actors_that_no_other_process_inherits(tmp_path: Path) -> None:
    table = ProcessTable(TREE, {})
    running, ended = present(table.get("a")), present(table.get("d"))
    pairs = [socket.socketpair() for _ in range(2)]
    uplinks = [ProcessConnection(Loop(), pair[0], print, print) for pair in pairs]
    boxes = [BlackBox("a"), BlackBox("d")]
    for child, uplink, box in zip((running, ended), uplinks, boxes, strict=True):
        child.process.connected(uplink)
        child.process.use_blackbox(box)
    expected = {uplinks[0].fileno(), *(box.fd for box in boxes)}
    uplinks[1].close()
    assert set(table.fds()) == expected
    uplinks[0].close()
    for box in boxes:
        box.close()
    for _, other in pairs:
        other.close()


def test_the_memory_of_actors_is_measured_only_on_request() -> None:
    table = ProcessTable(TREE, {})
    present(table.get("root")).process.forked(os.getpid())
    counts: Any = SimpleNamespace(running=0, abandoned=0)
    lifecycle: Any = SimpleNamespace(state="ready")
    application: Any = SimpleNamespace(files=ShownFiles(), incidents=NoIncidents())
    policies = PolicyOrders(Policies(TREE, {}), table, lambda: None)
    control = Control(application, Loop(), ForkServerParts(table, counts, counts, lifecycle, no_disks()), policies)

    def held(question: GetTree) -> int:
        told = control.answer(question)
        assert isinstance(told, Tree)
        return told.actors[0].memory_bytes

    assert held(GetTree(memory=False)) == 0
    assert held(GetTree()) > 1_000_000
    assert held(GetTree(memory=False)) > 1_000_000, "as it was last told"


def test_a_trouble_keeps_its_first_time_across_restarts_of_its_reporter() -> None:
    child = present(ProcessTable(TREE, {}).get("a"))
    child.order(20.0, 1)
    child.reported(ServiceState("runtime", "does not answer", 10.0), 40.0)
    child.order(45.0, 1)
    child.reported(ServiceState("runtime", "does not answer", 50.0), 50.0)
    assert child.current_troubles(1000.0) == [ServiceState("runtime", "does not answer", 10.0)]
    child.reported(ServiceState("runtime"), 1000.0)
    assert child.current_troubles(1000.0) == []


def test_a_trouble_that_the_next_incarnation_does_not_report_ends() -> None:
    child = present(ProcessTable(TREE, {}).get("a"))
    child.order(0.0, 1)
    child.reported(ServiceState("certificate", "request is pending", 10.0), 10.0)
    assert child.current_troubles(1000.0), "its own counts until it is withdrawn"
    child.down()
    assert child.current_troubles(1000.0)
    child.order(1000.0, 1)
    assert child.current_troubles(1000.0 + CONFIRMATION_SECONDS)
    assert child.current_troubles(1001.0 + CONFIRMATION_SECONDS) == []
    child.reported(ServiceState("certificate", "request is pending", 2000.0), 2000.0)
    assert child.current_troubles(2000.0) == [ServiceState("certificate", "request is pending", 2000.0)]


def test_heartbeats_are_checked_often_enough_for_the_shortest_policy() -> None:
    assert tick_seconds([Policy()]) == 1.0
    assert tick_seconds([Policy(), Policy(heartbeat_seconds=1)]) == 0.25
    assert tick_seconds([Policy(heartbeat_seconds=0)]) == 1.0
    assert tick_seconds([Policy(), Policy(busy_seconds=1)]) == 0.25


class _Watched:
    """One child of the fork server, in service, watched for a while."""

    def __init__(self, policy: Policy, program: Sequence[str] = ("sleep", "60")) -> None:
        self.table = ProcessTable(TREE, {})
        self.killed: list[tuple[str, str]] = []
        self.child = present(self.table.get("a"))
        self.process = subprocess.Popen(program)
        self.child.state, self.child.policy = "running", policy
        self.child.process.forked(self.process.pid)
        self.entry = StatusPage(1).take()
        self.child.process.use_status_entry(self.entry)
        self.entry.beat(time.monotonic())

    def watch(self, seconds: float, meanwhile: Callable[[], object] = lambda: None) -> list[tuple[str, str]]:
        """What was killed, and for which cause. `meanwhile` is called again and again."""
        loop = Loop()

        def again() -> None:
            meanwhile()
            loop.call_later(0.02, again)

        again()
        Watch(
            loop,
            self.table,
            lambda child, cause, detail: self.killed.append((child.name, cause)),
            OomKills(),
            no_disks(),
        ).reschedule()
        loop.call_later(seconds, loop.stop)
        loop.run()
        self.process.kill()
        self.process.wait()
        return list(dict.fromkeys(self.killed))


def test_an_actor_that_holds_its_loop_is_hung_before_its_heartbeat_is_missed() -> None:
    hung = _Watched(Policy(busy_seconds=0.2))
    hung.entry.start(padded("m.T"), time.monotonic() - 0.3)
    assert hung.watch(0.5) == [("a", "hang")]
    only_silence_counts = _Watched(Policy(busy_seconds=0.0))
    only_silence_counts.entry.start(padded("m.T"), time.monotonic() - 0.3)
    assert only_silence_counts.watch(0.5) == []


def test_an_actor_with_a_long_step_in_hand_is_busy_and_not_hung() -> None:
    silent = _Watched(Policy(heartbeat_seconds=0.2, busy_seconds=0.2))
    assert silent.watch(0.8) == [("a", "hang")], "nobody knows what it does"
    busy = _Watched(Policy(heartbeat_seconds=0.2, busy_seconds=0.2))
    busy.entry.start(padded("request GET /metrics"), time.monotonic(), 60.0)
    assert busy.watch(0.8) == []


def test_an_actor_that_makes_one_step_after_the_other_is_not_hung_though_no_heartbeat_comes() -> None:
    many = _Watched(Policy(heartbeat_seconds=0.2))

    def step() -> None:
        many.entry.start(padded("pod 1"), time.monotonic())
        many.entry.end()

    assert many.watch(0.8, meanwhile=step) == []


@pytest.mark.parametrize("policy", [Policy(heartbeat_seconds=0.2), Policy(heartbeat_seconds=60, busy_seconds=0.2)])
def test_an_actor_that_waits_for_a_processor_is_not_hung(policy: Policy) -> None:
    cpu = min(os.sched_getaffinity(0))
    starved = _Watched(policy, ["sh", "-c", "while :; do :; done"])
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
        for pid in (starved.process.pid, other.pid):
            os.sched_setaffinity(pid, {cpu})
        os.sched_setscheduler(starved.process.pid, os.SCHED_IDLE, os.sched_param(0))
        starved.entry.start(padded("m.T"), time.monotonic())
        try:
            assert starved.watch(1.0) == []
        finally:
            other.kill()


def test_an_actor_that_waits_for_a_disk_is_not_hung_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervision.process_stat.state", lambda _: "D")
    assert _Watched(Policy(heartbeat_seconds=0.2)).watch(0.8) == []
    monkeypatch.setattr("supervision.fork_server.child_checks._DISK_SECONDS", 0.3)
    assert _Watched(Policy(heartbeat_seconds=0.2)).watch(0.8) == [("a", "hang")]


def test_an_actor_stopped_by_a_signal_is_hung_during_any_work() -> None:
    stopped = _Watched(Policy(heartbeat_seconds=0.2, busy_seconds=0.2))
    stopped.entry.start(padded("request GET /metrics"), time.monotonic(), 60.0)
    stopped.process.send_signal(signal.SIGSTOP)
    assert stopped.watch(0.8) == [("a", "hang")]


def test_an_actor_that_starts_has_its_time_to_start_before_silence_counts() -> None:
    starting = _Watched(Policy(heartbeat_seconds=0.2, start_seconds=60))
    starting.child.state = "starting"
    assert starting.watch(0.8) == []


def test_the_allowance_grows_with_the_fork_servers_own_delay() -> None:
    delay = RecentDelay()
    assert delay.worst(0.0) == 0.0
    delay.add(1.0, 0.8)
    delay.add(2.0, 0.1)
    assert delay.worst(3.0) == 0.8
    assert delay.worst(11.5) == 0.1
    assert delay.worst(20.0) == 0.0


def test_an_entry_is_read_as_it_was_written_and_cleared_for_the_next() -> None:
    status_page = StatusPage(1)
    status_entry = status_page.take()
    status_entry.beat(12.5)
    status_entry.start(padded("x" * 500), 13.0)
    status_entry.count((1, 2, 3, 4, 5, 6))
    seen = status_entry.read()
    assert (seen.heartbeat, seen.busy_since, seen.message) == (13.0, 13.0, "x" * 128)
    assert (seen.handled, seen.dropped, seen.dead_letters, seen.mailbox, seen.tasks, seen.outgoing) == (
        1,
        2,
        3,
        4,
        5,
        6,
    )
    status_entry.end()
    assert status_entry.read().busy_since == 0
    with pytest.raises(OSError, match="no entry of the status page"):
        status_page.take()
    status_page.give_back(status_entry)
    assert status_page.take().read().message == ""


def test_the_black_box_distinguishes_an_exception_from_stacks() -> None:
    box = BlackBox("a")
    assert (box.exception(), box.stacks()) == (("", ""), "")
    os.write(box.fd, b"Current thread 0x1 (most recent call first):\n")
    assert (box.exception(), box.stacks()) == (("", ""), "Current thread 0x1 (most recent call first):\n")
    try:
        raise KeyError("k")
    except KeyError as error:
        box.record("m.T", error)
    message, text = box.exception()
    assert message == "m.T"
    assert text.startswith("Traceback")
    assert text.endswith("KeyError: 'k'\n")
    box.close()


def test_a_socket_accepts_when_a_process_listens(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    assert not accepts(path)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        assert not accepts(path)
        sock.listen()
        assert accepts(path)
