"""Names are sockets in a directory of ours."""

import errno
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervision.messaging.names import (
    Names,
    NoSuchActor,
    PeerRefused,
    check_peer,
    file_of,
    is_dying,
    is_ending,
)


@pytest.fixture
def names(tmp_path: Path) -> Iterator[Names]:
    made = Names(tmp_path / "names")
    yield made
    os.close(made.fd)


def test_a_name_means_the_incarnation_that_was_published_last(names: Names) -> None:
    first, second = names.listen("a/b", 1), names.listen("a/b", 2)
    with pytest.raises(NoSuchActor):
        names.connect("a/b")
    names.publish("a/b", 1)
    names.connect("a/b")[0].close()
    names.publish("a/b", 2)
    names.connect("a/b")[0].close()
    first.accept()[0].close()
    second.accept()[0].close()
    with pytest.raises(BlockingIOError):
        second.accept()
    names.forget("a/b", 2)
    names.forget("a/b", 1)
    with pytest.raises(NoSuchActor) as caught:
        names.connect("a/b")
    assert not caught.value.gone
    assert list(names.path.iterdir()) == []
    first.close()
    second.close()


def test_a_file_system_on_which_a_second_name_leads_to_no_socket_is_refused(names: Names, monkeypatch) -> None:
    names.check()
    assert os.listdir(names.path) == []

    def link(source: str, target: str, **directories: int) -> None:
        """The file of a socket to which nobody listens: as such file systems have it."""
        os.mknod(target, stat.S_IFSOCK | 0o600, dir_fd=directories["dst_dir_fd"])

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(OSError, match="does not lead to a socket"):
        names.check()
    assert os.listdir(names.path) == []


def test_a_removed_name_or_socket_file_is_restored_from_the_other(names: Names) -> None:
    with names.listen("a", 1) as listening:
        names.publish("a", 1)
        assert not names.restore("a", 1)
        for removed in (file_of("a"), f"{file_of('a')}#1"):
            (names.path / removed).unlink()
            assert names.restore("a", 1)
            assert not names.restore("a", 1)
            names.connect("a")[0].close()
            listening.accept()[0].close()


def test_an_incarnation_without_name_and_socket_file_cannot_be_published_again(names: Names) -> None:
    with names.listen("a", 1):
        names.publish("a", 1)
        for removed in (file_of("a"), f"{file_of('a')}#1"):
            (names.path / removed).unlink()
        with pytest.raises(NoSuchActor):
            names.restore("a", 1)


def test_the_identity_of_a_name_differs_for_each_incarnation_and_is_zero_without_one(names: Names) -> None:
    with names.listen("a", 1), names.listen("a", 2):
        found = [names.identity("a")]
        for incarnation in (1, 2):
            names.publish("a", incarnation)
            found.append(names.identity("a"))
    assert found[0] == 0
    assert len(set(found)) == 3
    names.retire("b")
    assert names.identity("b") == 0


def test_a_name_that_is_retired_is_gone(names: Names) -> None:
    names.retire("x")
    with pytest.raises(NoSuchActor) as caught:
        names.connect("x")
    assert caught.value.gone


def test_an_actor_gives_up_an_alias_of_its_own_and_none_that_another_has_taken(names: Names) -> None:
    with names.listen("a", 1), names.listen("b", 1):
        names.publish("a", 1, "alias")
        names.unpublish("b", 1, "alias")
        assert names.identity("alias") != 0
        names.unpublish("a", 1, "alias")
        assert names.identity("alias") == 0
        names.unpublish("a", 1, "alias")  # there is none any more


def test_the_directory_is_private(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.mkdir(mode=0o777)
    os.close(Names(path).fd)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another's directory")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.mkdir()
    os.chown(path, 65534, 65534)
    with pytest.raises(PeerRefused, match="belongs to uid 65534"):
        Names(path)


def test_a_peer_of_another_user_is_refused_and_its_connection_closed(
    names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, user = os.getpid(), os.geteuid()
    with names.listen("a", 1):
        names.publish("a", 1)
        sock, pid = names.connect("a")
        assert pid == check_peer(sock) == ours
        sock.close()
        before = len(os.listdir("/proc/self/fd"))
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
        with pytest.raises(PeerRefused, match=f"pid {ours} runs as uid {user}, not {user + 1}"):
            names.connect("a")
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "names").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="names"):
        Names(tmp_path / "names")


def test_long_names_are_different_files_of_bounded_length() -> None:
    files = {file_of(f"{'x' * 300}/{n}") for n in range(100)}
    assert len(files) == 100
    assert all(len(file) <= 72 for file in files)
    assert file_of("pod_workers/worker/1") == "pod_workers~worker~1"


def test_an_ended_or_missing_process_is_ending_and_a_live_one_is_not() -> None:
    assert not is_ending(os.getpid())
    child = subprocess.Popen(["true"])
    deadline = time.monotonic() + 5
    while not is_ending(child.pid):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    child.wait()
    assert is_ending(child.pid)


def test_a_process_is_dying_from_the_moment_it_is_killed_until_it_is_reaped() -> None:
    pid = os.fork()
    if pid == 0:
        signal.pause()
    assert not is_dying(pid)
    os.kill(pid, signal.SIGKILL)
    assert is_dying(pid)
    os.waitpid(pid, 0)
    assert is_dying(pid), "it is gone"
    assert not is_dying(0)


def test_a_directory_that_cannot_be_looked_at_counts_as_there(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(*_args: object, **_options: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", fail)
        assert names.is_there()
    assert names.is_there()
    names.path.rmdir()
    assert not names.is_there()
