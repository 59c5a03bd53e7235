"""Messages between real processes: flow control, deadlines, sizes, who may speak."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from supervision.messaging.names import Names
from supervision.messaging.wire import FrameWriter, encode
from tests.support.fork_server_process import ForkServerProcess, fork_server_running
from tests.support.tree_actors import HERE, AskOther, Do, GetSeen, Said, Say, Seen, Tell

pytestmark = pytest.mark.tree
SMALL = f"{HERE}:small"


def _seen(fork_server: ForkServerProcess, name: str = "listener") -> Seen:
    return fork_server.ask(GetSeen(), Seen, name)


def test_a_stuck_receiver_never_blocks_its_sender_and_overflow_is_reported(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:patient", tmp_path / "run") as fork_server:
        fork_server.kill("listener", signal.SIGSTOP)
        fork_server.ask(Tell("listener", 20_000, deadline=60), Said, "echo")  # answered once it has sent them all
        assert fork_server.ask(Say("alive"), Said, "echo").text == "alive"
        dead = _seen(fork_server, "echo").dead
        assert set(dead) == {"listener Number overflow"}
        assert 20_000 - 256 - 8192 <= len(dead) <= 20_000 - 8192
        state = fork_server.tree()["echo"]
        fork_server.wait(lambda: fork_server.tree()["echo"].dropped == len(dead), f"counted {state}")
        fork_server.kill("listener", signal.SIGCONT)
        fork_server.wait(lambda: len(_seen(fork_server).numbers) == 20_000 - len(dead), "the rest arrives")
        assert _seen(fork_server).numbers == list(range(20_000 - len(dead)))


def test_state_coalesces_while_the_receiver_is_stuck(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:patient", tmp_path / "run") as fork_server:
        fork_server.kill("listener", signal.SIGSTOP)
        fork_server.ask(Tell("listener", 5000, kind="latest"), Said, "echo")
        fork_server.kill("listener", signal.SIGCONT)
        fork_server.wait(lambda: _seen(fork_server).latest[-1:] == [4999], "the newest arrives")
        assert len(_seen(fork_server).latest) <= 257
        assert _seen(fork_server, "echo").dead == []


def test_a_message_that_waited_too_long_is_a_dead_letter(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.ask(Tell("nobody", 3, deadline=0.2), Said, "echo")
        fork_server.wait(
            lambda: _seen(fork_server, "echo").dead == ["nobody Number deadline"] * 3, "three dead letters"
        )


def test_what_an_actor_tells_in_the_step_that_ends_it_arrives_and_its_message_is_not_sent_again(
    tmp_path: Path,
) -> None:
    with fork_server_running(f"{HERE}:leaving", tmp_path / "run") as fork_server:

        def has_said_hello(times: int) -> bool:
            return _seen(fork_server).hellos.count("leaving") == times

        for incarnation in (1, 2):
            fork_server.wait(partial(has_said_hello, incarnation), "it is connected with the listener")
            fork_server.ask(Tell("leaving", 1), Said, "echo")
        fork_server.wait(partial(has_said_hello, 3), "it has started again")
        assert _seen(fork_server).numbers == [0, 0]
        assert fork_server.tree()["leaving"].incarnation == 3


def test_a_question_to_an_actor_that_dies_fails_at_once(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:patient", tmp_path / "run") as fork_server:
        answer = fork_server.ask(AskOther("asking", "?", timeout=600), Said, "echo", timeout=60)
        assert "died before it answered" in answer.text or "no answer" in answer.text


def test_a_question_without_answer_fails_at_its_deadline(tmp_path: Path) -> None:
    with fork_server_running(f"{HERE}:patient", tmp_path / "run") as fork_server:
        fork_server.kill("listener", signal.SIGSTOP)
        answer = fork_server.ask(AskOther("listener", "?", timeout=0.3), Said, "echo")
        assert answer.text == "AskError listener was asked Say: no answer within 0.3 s"


def test_large_messages_pass_and_small_ones_wait_behind_them(tmp_path: Path) -> None:
    with fork_server_running(
        f"{HERE}:patient", tmp_path / "run"
    ) as fork_server:  # whose ceiling three copies of 64 MiB fit under
        data = os.urandom(8 * 1024 * 1024) * 8  # 64 MiB
        assert fork_server.ask(Say("large", data[:-1024]), Said, "echo", timeout=20).data == data[:-1024]
        fork_server.kill("listener", signal.SIGSTOP)
        fork_server.ask(Tell("listener", 3, size=20_000_000, deadline=60), Said, "echo", timeout=20)
        fork_server.ask(Tell("listener", 100, deadline=60), Said, "echo")
        fork_server.kill("listener", signal.SIGCONT)
        fork_server.wait(lambda: len(_seen(fork_server).numbers) == 103, "all arrive", 20)
        assert _seen(fork_server).numbers == [*range(3), *range(100)]


def test_a_flood_of_unfinished_large_messages_does_not_cost_the_receiver_its_life(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pid = fork_server.pid("echo")
        names = Names(tmp_path / "run" / "names")
        writer = FrameWriter()
        writer.add(encode("x", Say("flood", bytes(59_000_000))))
        unfinished = b"".join(writer.take() for _ in range(900))
        socks = []
        for _ in range(6):
            sock, _ = names.connect("echo")
            sock.setblocking(True)
            sock.settimeout(10)
            with contextlib.suppress(OSError):  # cut off on the way
                sock.sendall(unfinished)
            socks.append(sock)
        cut_off = [sock for sock in socks if _is_closed(sock)]
        assert len(cut_off) == 5
        assert fork_server.ask(Say("still"), Said, "echo").pid == pid
        assert not any(actor.restarts for actor in fork_server.tree().values())
        for sock in socks:
            sock.close()
        os.close(names.fd)


def _is_closed(sock: socket.socket) -> bool:
    sock.settimeout(0.5)
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_message_that_is_too_large_is_refused_where_it_is_sent(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        fork_server.ask(Tell("listener", 0), Said, "echo")
        with pytest.raises(Exception, match=r"closed|did not answer"):
            fork_server.ask(Tell("listener", 1, size=70_000_000), Said, "echo", timeout=3)
        fork_server.wait_running("echo", incarnation=2)


def test_an_unknown_type_or_a_bad_frame_closes_the_connection_only(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pid = fork_server.pid("echo")
        names = Names(tmp_path / "run" / "names")
        for bad in (b"\x00\x00\x00\x05hello", b"\xff" * 64, _frame_of_an_unknown_type(), b"\x20\x00\x00\x01"):
            sock, _ = names.connect("echo")
            sock.setblocking(True)
            sock.settimeout(2)
            sock.sendall(bad)
            assert sock.recv(1) == b""
            sock.close()
        sock, _ = names.connect("fork_server")
        sock.settimeout(2)
        sock.sendall(b"\xff" * 64)
        assert sock.recv(1) == b""
        sock.close()
        os.close(names.fd)
        assert fork_server.ask(Say("still"), Said, "echo").pid == pid


def test_an_unknown_message_is_given_up_and_later_ones_are_handled(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        pid = fork_server.pid("listener")
        with pytest.raises(Exception, match="did not answer"):
            fork_server.ask(Do("tell what the other does not know"), Said, "echo", timeout=0.2)
        fork_server.wait(lambda: "listener Odd refused" in _seen(fork_server, "echo").dead, "it is given up")
        fork_server.ask(Tell("listener", 3), Said, "echo")
        fork_server.wait(lambda: _seen(fork_server).numbers[-3:] == [0, 1, 2], "the next arrive")
        # those sent together with it may be lost with it, but are then dead letters too
        lost = _seen(fork_server, "echo").dead.count("listener Number refused")
        assert len(_seen(fork_server).numbers) + lost >= 5
        assert fork_server.pid("listener") == pid


def _frame_of_an_unknown_type() -> bytes:
    body = encode("x", Say("hi")).replace(b"Say", b"Sya")
    writer = FrameWriter()
    writer.add(body)
    return writer.take()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_peer_of_another_user_is_refused_both_ways(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        directory = tmp_path / "run" / "names"
        for path in (*tmp_path.parents, tmp_path, tmp_path / "run", directory):
            if path != Path("/"):
                path.chmod(path.stat().st_mode | 0o755)
        for path in directory.iterdir():
            path.chmod(0o777)
        for name in ("fork_server", "echo"):
            assert _as_nobody(partial(_first_byte, str(directory / name))) == b""
        directory.chmod(0o777)
        impostor = _listen_as_nobody(str(directory / "impostor"))
        try:
            fork_server.ask(Tell("impostor", 1), Said, "echo")
            fork_server.wait(
                lambda: _seen(fork_server, "echo").dead == ["impostor Number the peer is another user's"],
                "it is refused",
            )
        finally:
            os.kill(impostor, signal.SIGKILL)
            os.waitpid(impostor, 0)
            directory.chmod(0o700)


def _first_byte(path: str) -> bytes:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(2)
    sock.connect(path)
    return sock.recv(1)


def _as_nobody(action: Callable[[], bytes]) -> bytes:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setresuid(65534, 65534, 65534)
        try:
            os.write(writer, b"ok" + action())
        except OSError as error:
            os.write(writer, repr(error).encode())
        os._exit(0)
    os.close(writer)
    result = os.read(reader, 1000)
    os.close(reader)
    os.waitpid(pid, 0)
    assert result.startswith(b"ok"), result
    return result[2:]


def _listen_as_nobody(path: str) -> int:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setresuid(65534, 65534, 65534)
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(path)
        sock.listen()
        os.write(writer, b"1")
        time.sleep(60)
        os._exit(0)
    assert os.read(reader, 1) == b"1"
    os.close(reader)
    os.close(writer)
    return pid


def test_no_process_of_the_tree_listens_on_the_network(tmp_path: Path) -> None:
    import psutil

    with fork_server_running(SMALL, tmp_path / "run") as fork_server:
        for pid in (fork_server.process.pid, *fork_server.processes()):
            assert psutil.Process(pid).net_connections(kind="inet") == []


def test_a_long_path_of_the_run_directory_does_not_matter(tmp_path: Path) -> None:
    with fork_server_running(SMALL, tmp_path / ("long" * 40) / "run") as fork_server:
        assert fork_server.ask(Say("hi"), Said, "group/b").text == "hi"
