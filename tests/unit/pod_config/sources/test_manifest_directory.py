"""Large manifests, which a disposable process reads."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from actors.pod_config.manifests.manifest import Origin, StaticPod, read_manifest
from actors.pod_config.sources import file_source, manifest_directory
from actors.pod_config.sources.manifest_directory import REPLACED_SECONDS, SETTLE_SECONDS, ManifestDirectory
from actors.pod_config.validation.errors import document_error
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.process_messages import LastEnd

MANIFEST = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  containers: [{name: c, image: busybox}]\n"


class Runner:
    """The actor: its tasks begin, and its calls are made, when the test says so."""

    def __init__(self) -> None:
        self.tasks: list[Coroutine[Any, Any, None]] = []
        self.due: list[tuple[float, Callable[[], Any]]] = []
        self.log, self.name, self.last_end = logging.getLogger("pod_config"), "pod_config", LastEnd()

    def start_task(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.append(coroutine)

    def after(self, seconds: float, call: Callable[[], Any]) -> None:
        self.due.append((seconds, call))

    def every(self, seconds: float, call: Callable[[], Any], *, jitter: float) -> None: ...
    def tell(self, *_: Any, **__: Any) -> None: ...


class Directory:
    """A directory of manifests that counts every file as large."""

    def __init__(self, path: Path) -> None:
        self.actor = Runner()
        agent = Agent(
            root_dir=f"{path}.root", run_dir=f"{path}.run", config=KubeletConfiguration(staticPodPath=str(path))
        )
        actor: Any = self.actor
        self.manifests = ManifestDirectory(actor, agent, self._origin, self._parse, lambda: None)

    def _origin(self, path: str) -> Origin:
        return Origin("file", path, "n1")

    async def _parse(self, path: str) -> list[StaticPod]:
        try:
            return read_manifest(Path(path).read_bytes(), self._origin(path))
        except OSError as error:
            raise document_error(str(error.strerror)) from None

    def events(self) -> None:
        """Handle what inotify has to say."""
        watch = self.manifests._watch
        assert watch is not None
        self.manifests._events(watch)

    async def run_tasks(self) -> None:
        tasks, self.actor.tasks = self.actor.tasks, []
        for task in tasks:
            await task

    def pods(self) -> list[str]:
        return [file.pod.full_name for _, file in self.manifests.pods() if file.pod is not None]


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(file_source, "LARGE_BYTES", 0)
    path = tmp_path / "web.yaml"
    path.write_text(MANIFEST % "web")
    return path


async def test_a_large_manifest_has_its_pod_once_it_is_read(manifest: Path) -> None:
    directory = Directory(manifest.parent)
    directory.manifests.start()
    read = [directory.manifests.is_read]
    await directory.run_tasks()
    assert [*read, directory.manifests.is_read] == [False, True]
    assert directory.pods() == ["web-n1_default"]


async def test_a_large_manifest_that_is_gone_before_its_reading_begins_has_no_pod(manifest: Path) -> None:
    directory = Directory(manifest.parent)
    directory.manifests.start()
    manifest.unlink()
    directory.manifests._scan()
    await directory.run_tasks()
    assert directory.pods() == []
    assert directory.manifests.is_read


async def test_a_large_manifest_that_changes_before_its_reading_begins_is_read_once_more(manifest: Path) -> None:
    directory = Directory(manifest.parent)
    directory.manifests.start()
    manifest.write_text(MANIFEST % "other")
    os.utime(manifest, (1, 1))
    directory.manifests._scan()
    first, second = directory.actor.tasks
    await first
    assert (directory.pods(), directory.manifests.is_read) == ([], False)
    await second
    assert (directory.pods(), directory.manifests.is_read) == (["other-n1_default"], True)


@pytest.mark.parametrize("fresh", [True, False])
async def test_a_file_that_its_writer_may_still_write_is_looked_at_again_soon(tmp_path: Path, fresh: bool) -> None:
    """A link to a file is complete at once, and nobody closes it."""
    path = tmp_path / "manifests"
    path.mkdir()
    directory = Directory(path)
    directory.manifests.start()
    directory.actor.due.clear()
    written = tmp_path / "web"
    written.write_text(MANIFEST % "web")
    if not fresh:
        os.utime(written, (1, 1))
    os.link(written, path / "web.yaml")
    directory.events()
    assert (directory.actor.due, directory.pods()) == (
        ([(SETTLE_SECONDS, directory.manifests._scan)], []) if fresh else ([], ["web-n1_default"])
    )


async def test_a_manifest_that_was_moved_away_is_looked_at_again_before_its_pod_ends(tmp_path: Path) -> None:
    """Editors move a file away before they write it again."""
    (tmp_path / "web.yaml").write_text(MANIFEST % "web")
    directory = Directory(tmp_path)
    directory.manifests.start()
    directory.actor.due.clear()
    (tmp_path / "web.yaml").rename(tmp_path / "web.yaml~")
    directory.events()
    assert directory.pods() == ["web-n1_default"]
    ((seconds, scan),) = directory.actor.due
    assert seconds == REPLACED_SECONDS
    scan()
    assert directory.pods() == []


async def test_without_inotify_one_retry_is_due_however_often_the_files_are_scanned_and_one_line_says_so(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none_left() -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(manifest_directory, "DirectoryWatch", none_left)
    directory = Directory(manifest.parent)
    directory.manifests.start()
    for _ in range(50):
        directory.manifests._scan()
    retries = [call for _, call in directory.actor.due if call == directory.manifests._retry_watch]
    assert len(retries) == 1
    assert len([one for one in caplog.messages if "cannot watch" in one]) == 1
    directory.actor.due.clear()
    retries[0]()
    assert [call for _, call in directory.actor.due] == retries
    await directory.run_tasks()
