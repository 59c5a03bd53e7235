"""Files of pods: logs, links, hosts files, last words."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from actors.pod_workers.containers import files
from actors.pod_workers.containers.names import hostname, log_link, pod_log_directory
from actors.shared.cri.model import CriContainer
from actors.shared.kube.container import Container
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod
from actors.shared.linux.confined_paths import UnsafePathError
from actors.shared.linux.removal import FEW_BYTES

POD = Pod(metadata=ObjectMeta(name="p", namespace="ns", uid="u"))


def line(text: str, tag: str = "F") -> str:
    return f"2026-01-01T00:00:00.000000000Z stdout {tag} {text}\n"


def message(tmp_path, words: str | None = None, log: str = "", *, fallback: bool = True) -> str:
    if words is not None:
        (tmp_path / "words").write_text(words)
    (tmp_path / "0.log").write_text(log)
    return files.termination_message(f"{tmp_path}/words", str(tmp_path), "0.log", fallback=fallback)


def test_the_termination_message_is_the_tail_of_its_file(tmp_path):
    assert message(tmp_path, "x" * 5000 + "end") == "x" * 4093 + "end"


@pytest.mark.parametrize("words", [None, ""])
def test_the_log_tail_replaces_a_missing_termination_message_if_requested(tmp_path, words):
    log = "".join(line(f"line {number}") for number in range(100)) + line("par", "P") + line("tial")
    found = message(tmp_path, words, log)
    assert found.endswith("line 99\npartial\n")
    assert found.startswith("line 22\n"), "80 lines"
    assert message(tmp_path, words, log, fallback=False) == ""


def test_a_line_of_the_log_may_have_a_carriage_return(tmp_path):
    log = line("10%\r20%\x0cdone\u2028") + line("failed")
    assert message(tmp_path, None, log) == "10%\r20%\x0cdone\u2028\nfailed\n"


def test_the_end_of_the_log_has_at_most_two_kilobytes(tmp_path):
    assert len(message(tmp_path, None, line("é" * 3000)).encode()) <= files.FALLBACK_BYTES


def test_a_termination_message_is_not_read_through_a_link(tmp_path):
    (tmp_path / "secret").write_text("secret")
    os.symlink(tmp_path / "secret", tmp_path / "words")
    assert message(tmp_path) == ""


def test_a_fifo_in_place_of_the_termination_message_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "words")
    assert message(tmp_path) == ""


def test_each_instance_gets_a_new_world_writable_termination_message_file(tmp_path):
    path = files.make_termination_log(str(tmp_path), Container(name="a"), 10)
    assert path == f"{tmp_path}/containers/a/0000000a"
    with open(path, "w") as file:
        file.write("old")
    assert files.make_termination_log(str(tmp_path), Container(name="a"), 10) == path
    assert (os.stat(path).st_size, os.stat(path).st_mode & 0o777) == (0, 0o666)


def test_the_hosts_file_keeps_its_inode(tmp_path):
    path = files.write_hosts(f"{tmp_path}/pod", "one\n")
    inode = os.stat(path).st_ino
    assert files.write_hosts(f"{tmp_path}/pod", "two\n") == path
    assert (os.stat(path).st_ino, os.stat(path).st_mode & 0o777) == (inode, 0o644)
    with open(path) as file:
        assert file.read() == "two\n"


def test_a_link_points_to_the_log_and_is_removed_with_it(tmp_path):
    links, logs = f"{tmp_path}/links", f"{tmp_path}/logs"
    files.make_log_directory(logs, POD, "a")
    directory = pod_log_directory(logs, POD)
    for name in ("0.log", "0.log.20260101-000000.gz", "1.log"):
        open(f"{directory}/a/{name}", "w").close()
    files.make_log_link(links, logs, POD, "a", "id", "a/0.log")
    link = f"{links}/p_ns_a-id.log"
    assert os.readlink(link) == f"{directory}/a/0.log"
    assert files.highest_log_number(logs, POD, "a") == 1
    files.remove_log(links, logs, POD, CriContainer(id="id", name="a", pod_uid="u"))
    assert (os.listdir(f"{directory}/a"), os.listdir(links)) == (["1.log"], [])


@pytest.mark.parametrize("place", ["pod", "container"])
def test_a_link_in_place_of_a_log_directory_removes_no_foreign_file(place, tmp_path):
    links, logs, others = f"{tmp_path}/links", f"{tmp_path}/logs", tmp_path / "others"
    (others / "a").mkdir(parents=True)
    for directory in (others, others / "a"):
        (directory / "0.log").write_text("keep me")
    pod = pod_log_directory(logs, POD)
    os.makedirs(pod if place == "container" else logs)
    os.symlink(others, f"{pod}/a" if place == "container" else pod)
    with pytest.raises(UnsafePathError):
        files.make_log_directory(logs, POD, "a")
    files.remove_log(links, logs, POD, CriContainer(id="id", name="a", pod_uid="u"))
    assert (others / "0.log").exists()
    assert (others / "a" / "0.log").exists()


@pytest.mark.parametrize("place", ["pod", "container"])
def test_a_link_in_place_of_a_log_directory_is_neither_read_nor_counted_nor_filled(place, tmp_path):
    logs, others = f"{tmp_path}/logs", tmp_path / "others"
    (others / "a").mkdir(parents=True)
    for directory in (others, others / "a"):
        (directory / "7.log").write_text(line("secret"))
    pod = pod_log_directory(logs, POD)
    os.makedirs(pod if place == "container" else logs)
    os.symlink(others, f"{pod}/a" if place == "container" else pod)
    words = files.termination_message(f"{tmp_path}/words", logs, f"{os.path.basename(pod)}/a/7.log", fallback=True)
    assert (words, files.highest_log_number(logs, POD, "a")) == ("", -1)
    with pytest.raises(UnsafePathError):
        files.make_log_directory(logs, POD, "b" if place == "pod" else "a")
    assert sorted(os.listdir(others)) == ["7.log", "a"]


@pytest.mark.parametrize("plant", [os.symlink, os.link, lambda host, log: os.mkfifo(log)])
def test_what_leads_elsewhere_goes_from_the_place_of_a_log_and_its_target_stays(plant, tmp_path):
    logs, host, log = f"{tmp_path}/logs", tmp_path / "host", f"{pod_log_directory(f'{tmp_path}/logs', POD)}/a/1.log"
    host.write_text("host's")
    files.make_log_directory(logs, POD, "a")
    plant(host, log)
    files.clear_log_place(logs, POD, "a", 1)
    assert (os.path.lexists(log), host.read_text()) == (False, "host's")


def test_a_log_stays_in_its_place_and_a_missing_one_is_no_error(tmp_path):
    logs, log = f"{tmp_path}/logs", Path(pod_log_directory(f"{tmp_path}/logs", POD), "a", "1.log")
    files.clear_log_place(logs, POD, "a", 1)
    files.make_log_directory(logs, POD, "a")
    files.clear_log_place(logs, POD, "a", 1)
    log.write_text("line")
    files.clear_log_place(logs, POD, "a", 1)
    assert log.read_text() == "line"


def test_the_place_of_a_log_is_not_cleared_through_a_link(tmp_path):
    logs, others = f"{tmp_path}/logs", tmp_path / "others"
    others.mkdir()
    (others / "1.log").symlink_to(tmp_path)
    os.makedirs(pod_log_directory(logs, POD))
    os.symlink(others, f"{pod_log_directory(logs, POD)}/a")
    with pytest.raises(UnsafePathError):
        files.clear_log_place(logs, POD, "a", 1)
    assert (others / "1.log").is_symlink()


def test_the_logs_of_a_pod_go_and_those_of_others_stay(tmp_path):
    links, logs = f"{tmp_path}/links", f"{tmp_path}/logs"
    other = Pod(metadata=ObjectMeta(name="p", namespace="ns", uid="v"))
    for pod in (POD, other):
        files.make_log_directory(logs, pod)
        files.make_log_link(links, logs, pod, "a", pod.metadata.uid, "a/0.log")
    files.remove_pod_logs(links, logs, "ns", "p", "u")
    assert (os.listdir(logs), os.listdir(links)) == (["ns_p_v"], ["p_ns_a-v.log"])


def test_removing_the_logs_of_a_pod_does_not_follow_links(tmp_path):
    logs, precious = f"{tmp_path}/logs", tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    files.make_log_directory(logs, POD)
    os.symlink(precious, f"{pod_log_directory(logs, POD)}/a")
    files.remove_pod_logs(f"{tmp_path}/links", logs, "ns", "p", "u")
    assert (precious / "file").exists()
    assert os.listdir(logs) == []


def test_a_pod_without_a_log_directory_leaves_nothing(tmp_path):
    pod_dir = tmp_path / "pods" / "u"
    pod_dir.mkdir(parents=True)
    long = Pod(metadata=ObjectMeta(name="p" * 253, namespace="ns", uid="u"))
    with pytest.raises(OSError, match="too long"):
        files.make_log_directory(str(tmp_path), long)
    files.remove_traces(f"{tmp_path}/links", str(tmp_path), "ns", long.metadata.name, "u", str(pod_dir))
    assert not pod_dir.exists()


def test_the_traces_of_a_pod_are_its_directory_and_its_logs(tmp_path):
    where = {"logs_dir": f"{tmp_path}/logs", "namespace": "ns", "name": "p", "uid": "u", "pod_dir": f"{tmp_path}/u"}
    assert files.has_few_traces(**where), "nothing is there"
    files.make_log_directory(where["logs_dir"], POD, "a")
    log = Path(pod_log_directory(where["logs_dir"], POD), "a", "0.log")
    log.touch()
    os.truncate(log, FEW_BYTES + 1)
    assert not files.has_few_traces(**where)
    assert files.has_few_traces(**{**where, "name": ""}), "its logs are not known"


def test_a_link_name_is_no_longer_than_a_file_name_may_be(tmp_path):
    long = Pod(metadata=ObjectMeta(name="p" * 253, namespace="n" * 63, uid="u"))
    link = log_link(str(tmp_path), long, "c" * 63, "f" * 64)
    assert len(os.path.basename(link)) == 255
    assert link.endswith(".log")
    for _ in range(2):
        files.make_log_link(str(tmp_path), f"{tmp_path}/logs", long, "c" * 63, "f" * 64, "c/0.log")
    assert os.listdir(tmp_path) == [os.path.basename(link)]


@pytest.mark.parametrize(("name", "expected"), [("web", "web"), ("a" * 70, "a" * 63), ("a" * 62 + "-.b", "a" * 62)])
def test_a_host_name_has_at_most_63_characters_and_ends_well(name, expected):
    assert hostname(Pod(metadata=ObjectMeta(name=name))) == expected


def test_the_logs_of_a_pod_go_with_whatever_was_planted_among_them(tmp_path):
    links, logs = f"{tmp_path}/links", f"{tmp_path}/logs"
    files.make_log_directory(logs, POD)
    directory = pod_log_directory(logs, POD)
    os.makedirs(f"{directory}/a/deeper/still")
    os.mkfifo(f"{directory}/a/0.log")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    os.symlink(outside, f"{directory}/b")
    files.remove_pod_logs(links, logs, "ns", "p", POD.metadata.uid)
    assert not os.path.lexists(directory)
    assert (outside / "kept").exists()


def test_files_that_are_named_like_no_restart_count_are_not_one(tmp_path):
    directory = f"{pod_log_directory(str(tmp_path), POD)}/a"
    os.makedirs(directory)
    for name in ("3.log", "²7.log", "99999999999999.log", "x.log", ".log"):
        open(f"{directory}/{name}", "w").close()
    assert files.highest_log_number(str(tmp_path), POD, "a") == 3


def test_a_pod_with_the_longest_of_names_has_its_link_too(tmp_path):
    links, logs = f"{tmp_path}/links", f"{tmp_path}/logs"
    pod = Pod(metadata=ObjectMeta(name="p" * 253, namespace="n" * 63, uid="u"))
    for _ in range(2):
        files.make_log_link(links, logs, pod, "c" * 63, "i" * 64, "c/0.log")
    (name,) = os.listdir(links)
    assert (len(name), name.endswith(".log")) == (255, True)


def test_on_a_full_disk_the_hosts_file_stays_as_it_was(tmp_path, monkeypatch):
    path = files.write_hosts(str(tmp_path), "127.0.0.1 localhost\n")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_hosts(str(tmp_path), "127.0.0.1 localhost\n192.0.2.1 other\n")
    with open(path) as file:
        assert file.read() == "127.0.0.1 localhost\n"


def test_a_shorter_hosts_file_ends_where_it_ends(tmp_path):
    for text in ("127.0.0.1 localhost\n192.0.2.1 other\n", "127.0.0.1 localhost\n"):
        path = files.write_hosts(str(tmp_path), text)
        with open(path) as file:
            assert file.read() == text
