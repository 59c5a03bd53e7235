"""The images that the agent has built itself."""

from __future__ import annotations

from pathlib import Path

from actors.container_runtime.instance import ManagedRuntime
from actors.image_manager.built_images import built_images


def test_the_images_that_a_managed_runtime_has_from_the_start_are_known(tmp_path: Path) -> None:
    assert built_images(str(tmp_path)) == frozenset()
    record = Path(ManagedRuntime(root=str(tmp_path), state=f"{tmp_path}/state").images_file)
    record.write_text('{"docker.io/library/busybox:latest": "sha256:1", "registry.k8s.io/pause:3.9": "sha256:2"}')
    assert built_images(str(tmp_path)) == {"sha256:1", "sha256:2"}
    record.write_text("{")
    assert built_images(str(tmp_path)) == frozenset()
