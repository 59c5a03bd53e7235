"""The files of the node's state: an actor that is started again goes on from the copy, a new agent does not."""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actors.shared import state_files
from actors.shared.state_files import CopiedFile, StateFiles
from supervision.state_file import read_private, write_private

NAME = "device-plugins/some_state"


def prepared(home: Path, *, again: bool) -> CopiedFile:
    file = StateFiles(f"{home}/root", f"{home}/run", again=again).file(NAME)
    file.prepare()
    return file


def damage(path: Path) -> None:
    path.write_bytes(b"junk")


@pytest.mark.parametrize("spoil", [damage, Path.unlink], ids=["damaged", "removed"])
def test_a_spoiled_file_is_written_again_for_an_actor_that_is_started_again(tmp_path, caplog, spoil):
    file = prepared(tmp_path, again=False)
    file.write(b"one")
    file.write(b"two")
    spoil(file.path)
    with caplog.at_level(logging.WARNING):
        assert prepared(tmp_path, again=True).path.read_bytes() == b"two"
    assert str(file.path) in caplog.text


def test_an_actor_that_only_reads_takes_the_copy_while_the_agent_runs(tmp_path):
    file = prepared(tmp_path, again=False)
    file.write(b"one")
    damage(file.path)
    assert StateFiles(f"{tmp_path}/root", f"{tmp_path}/run", again=True).file(NAME).newest().read_bytes() == b"one"
    assert StateFiles(f"{tmp_path}/root", f"{tmp_path}/run").file(NAME).newest() == file.path


def test_a_new_agent_takes_the_file_as_it_is(tmp_path, caplog):
    prepared(tmp_path, again=False).write(b"one")
    path = tmp_path / "root" / NAME
    damage(path)
    prepared(tmp_path, again=False)
    assert path.read_bytes() == b"junk"
    path.unlink()
    prepared(tmp_path, again=False)
    prepared(tmp_path, again=True)
    assert not path.exists()
    assert caplog.text == ""


def test_actors_continue_from_the_state_that_a_new_agent_found(tmp_path):
    path = tmp_path / "root" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(b"of before")
    prepared(tmp_path, again=False)
    damage(path)
    prepared(tmp_path, again=True)
    assert path.read_bytes() == b"of before"


def test_a_write_that_fails_leaves_no_copy_that_is_newer_or_older_than_the_file(tmp_path):
    file = prepared(tmp_path, again=False)
    file.write(b"one")
    directory = file.path.parent
    directory.rename(f"{directory}.aside")
    directory.write_text("in the way")
    with pytest.raises(OSError, match="device-plugins"):
        file.write(b"two")
    directory.unlink()
    Path(f"{directory}.aside").rename(directory)
    prepared(tmp_path, again=True)
    assert file.path.read_bytes() == b"one"


def test_a_copy_that_cannot_be_written_leaves_the_file_intact(tmp_path):
    file = prepared(tmp_path, again=False)
    file.write(b"one")
    copies = tmp_path / "run" / "state"
    (copies / "some_state").unlink()
    copies.rmdir()
    copies.write_text("in the way")
    file.write(b"two")
    prepared(tmp_path, again=True)
    assert file.path.read_bytes() == b"two"


def test_an_actor_that_is_started_again_on_a_disk_that_answers_nothing_goes_on_from_the_copy(tmp_path, monkeypatch):
    def fail(path, *_args, **_options):
        if str(path).startswith(f"{tmp_path}/root"):
            raise OSError(errno.EIO, "Input/output error")
        return read_private(path)

    prepared(tmp_path, again=False).write(b"one")
    monkeypatch.setattr(state_files, "read_private", fail)
    monkeypatch.setattr(state_files, "write_private", fail)
    file = prepared(tmp_path, again=True)
    assert file.newest().read_bytes() == b"one"
    assert file.has(b"one")
    assert not file.has(b"two")


def test_an_actor_that_is_started_again_after_a_failed_write_goes_on_from_the_content_before_it(tmp_path, monkeypatch):
    def fail(path, *_args, **_options):
        if str(path).startswith(f"{tmp_path}/root"):
            raise OSError(errno.EMFILE, "Too many open files")
        return write_private(path, *_args, **_options)

    file = prepared(tmp_path, again=False)
    file.write(b"one")
    monkeypatch.setattr(state_files, "write_private", fail)
    with pytest.raises(OSError, match="Too many"):
        file.write(b"two")
    assert prepared(tmp_path, again=True).newest() != file.path
    assert prepared(tmp_path, again=True).newest().read_bytes() == b"one"


@pytest.mark.parametrize(("incarnation", "again"), [(1, False), (2, True)])
def test_an_actor_continues_from_the_copy_from_its_second_incarnation_on(tmp_path, incarnation, again):
    actor: Any = SimpleNamespace(log=logging.getLogger("x"), incarnation=incarnation)
    agent: Any = SimpleNamespace(root_dir=f"{tmp_path}/root", run_dir=f"{tmp_path}/run")
    assert StateFiles.of(actor, agent).again is again
