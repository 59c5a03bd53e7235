"""The script that `make image` ends with."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

SOURCES = Path(__file__).parents[3]


def test_the_image_is_made_of_the_tar_of_a_root_filesystem(tmp_path: Path) -> None:
    tar = tmp_path / "root.tar"
    with tarfile.open(tar, "w"):
        pass
    command = [sys.executable, "etc/image/layout.py", str(tar), str(tmp_path)]
    done = subprocess.run(
        command, cwd=SOURCES, env={"PYTHONPATH": "."}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(done.stdout.strip()) as image:
        assert {"oci-layout", "index.json"} <= set(image.getnames())
