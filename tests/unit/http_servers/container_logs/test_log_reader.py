"""Reading a log file: tail, follow, rotation, and nothing outside the directory."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.container_logs.lines import MAX_LINE_BYTES, is_partial
from actors.http_servers.container_logs.log_opener import LogUnavailable, open_log
from actors.http_servers.container_logs.query import LogQuery
from actors.http_servers.container_logs.reader import read_log
from actors.http_servers.container_logs.tail import BLOCK_BYTES, JOINED_BYTES, seek_tail

STAMP = "2026-11-21T04:00:00.000000000Z"


def line(text: str, tag: str = "F") -> str:
    return f"{STAMP} stdout {tag} {text}\n"


async def gone() -> bool:
    return False


async def seek(file: BinaryIO, lines: int, end: int) -> int:
    """Seek to the end; how many times others could be served meanwhile."""
    return len([None async for _ in seek_tail(file, lines, end)])


def read(tmp_path, **query: Any) -> str:
    async def story() -> str:
        blocks = read_log(lambda: open_log(str(tmp_path), "a/0.log"), LogQuery(**query), gone)
        return b"".join([block async for block in blocks]).decode()

    return asyncio.run(story())


@pytest.fixture
def log(tmp_path):
    (tmp_path / "a").mkdir()
    return tmp_path / "a" / "0.log"


@pytest.mark.parametrize("tail", [0, 1, 2, 50, 999, 1000, 5000])
def test_the_tail_has_that_many_lines(log, tmp_path, tail):
    log.write_text("".join(line(f"{i} " + "x" * 200) for i in range(1000)))
    got = read(tmp_path, tail_lines=tail).splitlines()
    assert [text.split()[0] for text in got] == [str(i) for i in range(1000)][max(0, 1000 - tail) :]


def test_a_line_in_parts_counts_once(log, tmp_path):
    log.write_text(line("one") + line("t", "P") + line("w", "P") + line("o") + line("three"))
    assert read(tmp_path, tail_lines=2) == "two\nthree\n"


@given(st.lists(st.sampled_from("FP"), max_size=40), st.integers(1, 10), st.sampled_from([1, 50, 64, 1 << 16]))
def test_seeking_backwards_finds_what_reading_forwards_finds(tmp_path_factory, tags, tail, block):
    path = tmp_path_factory.mktemp("t") / "log"
    path.write_text("".join(line(str(i), tag) for i, tag in enumerate(tags)))
    groups: list[int] = [i for i in range(len(tags)) if i == 0 or tags[i - 1] == "F"]
    with path.open("rb", buffering=0) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("actors.http_servers.container_logs.tail.BLOCK_BYTES", block)
        asyncio.run(seek(file, tail, path.stat().st_size))
        rest = file.read().decode().splitlines()
    expected = groups[-tail] if len(groups) >= tail else 0
    assert len(rest) == len(tags) - expected


def test_a_tail_of_nearly_all_looks_at_each_line_once_and_serves_others_meanwhile(log, monkeypatch):
    log.write_text(line("x") * 10_000)
    looked = rounds = 0

    def look(text: bytes) -> bool:
        nonlocal looked
        looked += 1
        return is_partial(text)

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def story() -> None:
        counting = asyncio.ensure_future(count())
        with log.open("rb", buffering=0) as file:
            await seek(file, 9_999, log.stat().st_size)
            assert file.tell() == len(line("x"))
        counting.cancel()

    monkeypatch.setattr("actors.http_servers.container_logs.tail.is_partial", look)
    asyncio.run(story())
    assert looked <= 10_000
    assert rounds >= log.stat().st_size // BLOCK_BYTES


def test_the_tail_of_a_line_that_never_ends_takes_little_memory(log):
    with log.open("wb") as file:
        file.write(line("one").encode() + STAMP.encode() + b" stdout P ")
        file.truncate(64 << 20)
    tracemalloc.start()
    try:
        with log.open("rb", buffering=0) as file:
            asyncio.run(seek(file, 1, log.stat().st_size))
            assert file.tell() == len(line("one"))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_line_that_never_ends_is_passed_on_piece_by_piece(log, tmp_path):
    """So does the kubelet, which holds all of the line in its memory first."""
    with log.open("wb") as file:
        file.write(line("one").encode() + STAMP.encode() + b" stdout F ")
        file.truncate(64 << 20)
    text = log.stat().st_size - len(line("one")) - len(f"{STAMP} stdout F ")

    async def story() -> list[int]:
        blocks = read_log(lambda: open_log(str(tmp_path), "a/0.log"), LogQuery(tail_lines=1), gone)
        return [len(block) async for block in blocks]

    tracemalloc.start()
    try:
        sizes = asyncio.run(story())
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert sizes[0] == 0, "the answer begins when the log is open"
    assert sum(sizes) == text + 1
    assert max(sizes) <= MAX_LINE_BYTES + BLOCK_BYTES


@pytest.mark.parametrize("tag", ["F", "P"])
@pytest.mark.parametrize("query", [{}, {"tail_lines": 2}, {"limit_bytes": 3 * MAX_LINE_BYTES}, {"timestamps": True}])
def test_a_line_in_pieces_is_the_line(log, tmp_path, tag, query):
    long = "é" * MAX_LINE_BYTES + "."
    log.write_text(line(long, tag) + line("end") + line("last"))
    stamp = f"{STAMP} " if query.get("timestamps") else ""
    joined = tag == "P"
    expected = f"{stamp}{long}" + ("" if joined else f"\n{stamp}") + f"end\n{stamp}last\n"
    if query.get("tail_lines") and not joined:
        expected = "end\nlast\n"
    assert read(tmp_path, **query) == expected


def test_no_more_of_a_line_in_pieces_is_sent_than_requested(log, tmp_path):
    log.write_text(line("x" * 3 * MAX_LINE_BYTES) + line("end"))
    assert read(tmp_path, limit_bytes=2 * MAX_LINE_BYTES + 1) == "x" * (2 * MAX_LINE_BYTES + 1)


@pytest.mark.parametrize("head", [f"{STAMP} stderr F ", "no line", '{"log":"', "2026 stdout F "])
def test_a_long_omitted_line_keeps_the_next_one(log, tmp_path, head):
    log.write_text(head + "x" * 3 * MAX_LINE_BYTES + "\n" + line("end"))
    assert read(tmp_path, stream="Stdout", timestamps=True) == f"{STAMP} end\n"


def test_a_caller_may_leave_while_the_last_line_is_searched(log, tmp_path):
    """As the server does when the client has closed its connection."""
    with log.open("wb") as file:
        file.truncate(16 << 20)
    reads: list[int] = []

    class Counted:
        """A file that counts what is read of it."""

        def __init__(self, file):
            self._file = file

        def __getattr__(self, name):
            return getattr(self._file, name)

        def read(self, size):
            reads.append(size)
            return self._file.read(size)

    async def story() -> None:
        def opened() -> Any:
            return Counted(open_log(str(tmp_path), "a/0.log"))

        blocks: Any = read_log(opened, LogQuery(tail_lines=1), gone)
        assert await anext(blocks) == b""
        assert not reads, "the answer begins before anything is read"
        assert await anext(blocks) == b""
        await blocks.aclose()

    asyncio.run(story())
    assert reads == [BLOCK_BYTES]


def test_a_line_in_very_many_parts_is_shown_from_one_near_its_end(log):
    """The kubelet shows its last part only."""
    part = line("x" * 16_000, "P")
    parts = 3 * JOINED_BYTES // len(part)
    log.write_text(part * parts)
    with log.open("rb", buffering=0) as file:
        rounds = asyncio.run(seek(file, 1, log.stat().st_size))
        shown = log.stat().st_size - file.tell()
    assert JOINED_BYTES <= shown < JOINED_BYTES + len(part)
    assert shown % len(part) == 0, "it begins with a part"
    assert rounds <= JOINED_BYTES // BLOCK_BYTES + 2


@pytest.mark.parametrize("blocks", range(15, 36))
def test_the_head_of_a_long_part_is_found_where_blocks_split_it(log, monkeypatch, blocks):
    """A line of about MAX_LINE_BYTES or twice that, whose head says that it is continued."""
    monkeypatch.setattr("actors.http_servers.container_logs.tail.LONG_BLOCK_BYTES", BLOCK_BYTES)
    in_first_block = 20
    text = "x" * (blocks * BLOCK_BYTES + in_first_block - len(line("", "P")) - len(line("end")))
    log.write_text(line("one") + line(text, "P") + line("end"))
    with log.open("rb", buffering=0) as file:
        asyncio.run(seek(file, 1, log.stat().st_size))
        assert file.tell() == len(line("one"))


def test_a_last_line_without_a_newline_is_sent(log, tmp_path):
    log.write_text(line("one") + line("two").rstrip("\n"))
    assert read(tmp_path) == "one\ntwo\n"


@pytest.mark.parametrize("query", [{}, {"tail_lines": 2}])
def test_a_log_that_grows_while_it_is_read_ends_at_its_length_at_the_request(log, tmp_path, query):
    log.write_text(line("one") + line("two"))

    def opened():
        file = open_log(str(tmp_path), "a/0.log")
        with log.open("a") as other:
            other.write(line("x" * 100_000))
        return Growing(file)

    class Growing:
        """A file to which a line is added with each read."""

        def __init__(self, file):
            self._file = file

        def __getattr__(self, name):
            return getattr(self._file, name)

        def read(self, size):
            with log.open("a") as other:
                other.write(line("later"))
            return self._file.read(size)

    async def story() -> list[str]:
        found = b""
        async for block in read_log(opened, LogQuery(**query), gone):
            found += block
            assert b"later" not in found
        return found.decode().splitlines()

    assert asyncio.run(story())[-1] == "x" * 100_000


def test_following_sees_new_lines_goes_through_rotation_and_ends_with_the_container(log, tmp_path):
    async def story() -> str:
        running = True

        async def alive() -> bool:
            return running

        log.write_text(line("one"))
        got = b""
        blocks = read_log(lambda: open_log(str(tmp_path), "a/0.log"), LogQuery(follow=True), alive)
        async for block in blocks:
            got += block
            if block == b"one\n":
                with log.open("a") as file:
                    file.write(line("two"))
                log.rename(log.with_suffix(".old"))
                log.write_text(line("three"))
            if b"three" in got:
                running = False
        return got.decode()

    assert asyncio.run(asyncio.wait_for(story(), 20)) == "one\ntwo\nthree\n"


def test_a_log_that_is_rotated_as_its_container_ends_is_followed_to_its_last_line(log, tmp_path):
    log.write_text(line("first"))

    async def ended_and_rotated() -> bool:
        log.rename(tmp_path / "a" / "0.log.1")
        log.write_text(line("last"))
        return False

    async def story() -> str:
        blocks = read_log(lambda: open_log(str(tmp_path), "a/0.log"), LogQuery(follow=True), ended_and_rotated)
        return b"".join([block async for block in blocks]).decode()

    assert asyncio.run(story()) == "first\nlast\n"


def test_what_a_runtime_writes_to_the_old_file_after_it_made_the_new_one_is_followed(log, tmp_path):
    async def story() -> str:
        running, old = True, tmp_path / "a" / "0.log.1"

        async def alive() -> bool:
            return running

        def opened() -> BinaryIO:
            file = open_log(str(tmp_path), "a/0.log")
            if old.exists() and old.read_text() == line("one"):
                with old.open("a") as other:
                    other.write(line("two"))
            return file

        log.write_text(line("one"))
        got = b""
        async for block in read_log(opened, LogQuery(follow=True), alive):
            got += block
            if block == b"one\n":
                log.rename(old)
                log.write_text(line("three"))
            running = b"three" not in got
        return got.decode()

    assert asyncio.run(asyncio.wait_for(story(), 20)) == "one\ntwo\nthree\n"


def test_following_the_log_of_a_container_that_has_ended_needs_no_pause(log, tmp_path, monkeypatch):
    async def pause(seconds: float) -> None:
        assert not seconds

    monkeypatch.setattr("actors.http_servers.container_logs.reader.asyncio.sleep", pause)
    log.write_text(line("one"))
    assert read(tmp_path, follow=True) == "one\n"


@pytest.mark.parametrize("plant", ["file", "folder"])
def test_a_planted_link_is_not_followed(tmp_path, plant):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "0.log").write_text(line("secret"))
    root = tmp_path / "pods"
    root.mkdir()
    if plant == "folder":
        (root / "a").symlink_to(tmp_path / "secret")
    else:
        (root / "a").mkdir()
        (root / "a" / "0.log").symlink_to(tmp_path / "secret" / "0.log")
    with pytest.raises(LogUnavailable):
        open_log(str(root), "a/0.log")


def test_a_log_that_is_not_a_regular_file_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / "0.log")
    with pytest.raises(LogUnavailable, match="not a regular file"):
        open_log(str(tmp_path), "a/0.log")


DOCKER = "".join(
    f'{{"log":"{text}","stream":"{stream}","time":"{STAMP}"}}\n'
    for text, stream in (("one\\n", "stdout"), ("t", "stdout"), ("wo\\n", "stdout"), ("three\\n", "stderr"))
)


@pytest.fixture
def docker(tmp_path):
    """A log of cri-dockerd: a link to Docker's own of container c0ffee."""
    (tmp_path / "docker" / "c0ffee").mkdir(parents=True)
    own = tmp_path / "docker" / "c0ffee" / "c0ffee-json.log"
    own.write_text(DOCKER)
    (tmp_path / "pods" / "ns_p_u" / "c").mkdir(parents=True)
    (tmp_path / "pods" / "ns_p_u" / "c" / "0.log").symlink_to(own)
    return tmp_path


def read_docker(where, container_id: str, **query: Any) -> str:
    def opened():
        return open_log(str(where / "pods"), "ns_p_u/c/0.log", container_id, str(where / "docker"))

    async def story() -> str:
        return b"".join([block async for block in read_log(opened, LogQuery(**query), gone)]).decode()

    return asyncio.run(story())


def test_a_link_to_dockers_log_of_the_container_is_followed_and_its_lines_are_read(docker):
    assert read_docker(docker, "docker://c0ffee") == "one\ntwo\nthree\n"
    assert read_docker(docker, "docker://c0ffee", tail_lines=2) == "two\nthree\n"
    assert read_docker(docker, "docker://c0ffee", stream="Stderr") == "three\n"
    assert read_docker(docker, "docker://c0ffee", timestamps=True, tail_lines=1) == f"{STAMP} three\n"


@pytest.mark.parametrize("container_id", ["", "docker://decaf", "docker://..", "containerd://"])
def test_a_link_to_dockers_log_of_another_container_is_not_followed(docker, container_id):
    with pytest.raises(LogUnavailable, match="not followed"):
        read_docker(docker, container_id)


@pytest.mark.parametrize("target", ["1.log", "../c/1.log", "{pods}/ns_p_u/c/1.log"])
def test_a_link_within_the_pods_own_directory_is_followed(docker, target):
    folder = docker / "pods" / "ns_p_u" / "c"
    (folder / "1.log").write_text(line("here"))
    (folder / "0.log").unlink()
    (folder / "0.log").symlink_to(target.format(pods=docker / "pods"))
    assert read_docker(docker, "") == "here\n"


@pytest.mark.parametrize("target", ["../../ns_q_v/c/0.log", "/etc/passwd", "../../../docker/c0ffee/c0ffee-json.log"])
def test_a_link_to_anything_else_is_not_followed(docker, target):
    (docker / "pods" / "ns_q_v" / "c").mkdir(parents=True)
    (docker / "pods" / "ns_q_v" / "c" / "0.log").write_text(line("of another pod"))
    log = docker / "pods" / "ns_p_u" / "c" / "0.log"
    log.unlink()
    log.symlink_to(target)
    with pytest.raises(LogUnavailable, match="not followed"):
        read_docker(docker, "containerd://decaf")


def test_a_link_to_a_link_is_not_followed(docker):
    folder = docker / "pods" / "ns_p_u" / "c"
    (folder / "1.log").symlink_to("/etc/passwd")
    (folder / "0.log").unlink()
    (folder / "0.log").symlink_to("1.log")
    with pytest.raises(LogUnavailable):
        read_docker(docker, "")
