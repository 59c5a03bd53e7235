"""The inotify events of editors, and the files that are read after them."""

from __future__ import annotations

import os

import pytest
from inotify_simple import Event, flags

from actors.pod_config.sources.file_source import is_ignored
from actors.pod_config.sources.manifest_watch import DirectoryWatch, changes_of


def event(mask: int, name: str, cookie: int = 0) -> Event:
    return Event(1, mask, cookie, name)


@pytest.mark.parametrize(
    "name", [".web.yaml.swp", "web.yaml~", "#web.yaml#", "4913", "5036", ".#web", "web.yaml.swp", "sedAb12Cd", "..data"]
)
def test_temporary_files_of_editors_are_no_manifests(name):
    assert is_ignored(name)


@pytest.mark.parametrize(
    "name", ["web.yaml", "web", "a~b.yaml", "sedation.yaml", "web.json", "web.yaml.bak", "4913.yaml"]
)
def test_other_names_are_manifests(name):
    assert not is_ignored(name)


def test_vim_moving_the_old_file_away_is_not_a_delete():
    changes = changes_of([event(flags.MOVED_FROM, "w.yaml", 7), event(flags.MOVED_TO, "w.yaml~", 7)])
    assert (changes.look, changes.moved_out) == (set(), {"w.yaml"})


def test_a_rename_to_another_manifest_is_seen_at_once():
    changes = changes_of([event(flags.MOVED_FROM, "a.yaml", 7), event(flags.MOVED_TO, "b.yaml", 7)])
    assert (changes.look, changes.moved_out) == ({"a.yaml", "b.yaml"}, set())


def test_a_new_file_waits_for_its_writer_and_a_delete_does_not():
    changes = changes_of([event(flags.CREATE, "a.yaml"), event(flags.DELETE, "b.yaml")])
    assert (changes.created, changes.look) == ({"a.yaml"}, {"b.yaml"})
    changes = changes_of([event(flags.CREATE, "a.yaml"), event(flags.CLOSE_WRITE, "a.yaml")])
    assert (changes.created, changes.look) == (set(), {"a.yaml"})


def test_lost_events_and_a_new_config_map_version_cause_a_scan():
    assert changes_of([event(flags.Q_OVERFLOW, "")]).relist
    assert changes_of([event(flags.MOVED_TO, "..data", 3)]).relist


def test_a_missing_directory_is_watched_from_its_nearest_ancestor(tmp_path):
    directory = tmp_path / "a" / "b"
    watch = DirectoryWatch()
    try:
        watch.follow(str(directory))
        assert watch.directory == str(tmp_path)
        os.makedirs(directory)
        assert {each.name for each in watch.read()} == {"a"}
        watch.follow(str(directory))
        (directory / "w.yaml").write_text("x")
        assert "w.yaml" in changes_of(watch.read()).look
    finally:
        watch.close()
