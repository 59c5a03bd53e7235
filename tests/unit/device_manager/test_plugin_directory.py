"""The directory device-plugins belongs to the containers of plugins as much as to the agent."""

import os
from pathlib import Path

import pytest

from actors.device_manager.plugin_directory import DEPRECATION, prepare


def test_a_link_in_place_of_the_note_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    precious, directory = tmp_path / "precious", tmp_path / "device-plugins"
    precious.write_text("keep me")
    directory.mkdir()
    (directory / DEPRECATION).symlink_to(precious)
    assert prepare(str(directory)) == []
    assert precious.read_text() == "keep me"
    assert not (directory / DEPRECATION).is_symlink()
    assert "plugins_registry" in (directory / DEPRECATION).read_text()


@pytest.mark.timeout(20)
def test_a_fifo_in_place_of_the_note_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / DEPRECATION)
    assert prepare(str(tmp_path)) == []
    assert (tmp_path / DEPRECATION).is_file()
