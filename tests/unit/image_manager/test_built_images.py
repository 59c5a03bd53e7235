"""The images that the agent has built itself."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from actors.container_runtime.instance import ManagedRuntime
from actors.image_manager.built_images import BuiltImages


def _record(root: Path) -> Path:
    return Path(ManagedRuntime(root=str(root), state=f"{root}/state").images_file)


def test_the_images_that_a_managed_runtime_has_from_the_start_are_known(tmp_path: Path) -> None:
    assert BuiltImages(str(tmp_path)).ids() == frozenset()
    record = _record(tmp_path)
    record.write_text('{"docker.io/library/busybox:latest": "sha256:1", "registry.k8s.io/pause:3.9": "sha256:2"}')
    assert BuiltImages(str(tmp_path)).ids() == {"sha256:1", "sha256:2"}
    record.write_text("{")
    assert BuiltImages(str(tmp_path)).ids() == frozenset()


def test_another_runtime_has_none() -> None:
    assert BuiltImages("").ids() == frozenset()


def test_a_record_that_cannot_be_read_does_not_mean_that_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk with errors the images of the agent would be collected, and no registry has them."""

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    _record(tmp_path).write_text('{"docker.io/library/busybox:latest": "sha256:1"}')
    built = BuiltImages(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr("actors.image_manager.built_images.read_private", fail)
        with pytest.raises(OSError, match="Input/output"):
            built.ids()
    assert built.ids() == {"sha256:1"}
