"""Puts the first images into a managed containerd, once, before the tree starts: no registry is asked."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.linux.parent_death import ends_with_parent
from supervision.errors import UNREADABLE, error_text
from supervision.state_file import read_private
from supervision.time_scale import scaled

from . import images, program
from .errors import NotAnswering, ProgramFailed
from .host import RuntimeHost
from .host_setup import put
from .instance import ManagedRuntime
from .oci import OciLayout, write

_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 10.0
_IMPORT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.01
_WORDS: Final = 500


def ensure_images(instance: ManagedRuntime, host: RuntimeHost) -> bool:
    """Import the images that are missing, starting containerd for a moment if need be. Returns whether something was
    imported.

    `prepare` comes first. Raises RuntimeSetupError, OSError.
    """
    layout = images.first_images(host.machine)
    wanted = {built.reference: built.config_digest for built in layout.images}
    if _imported(instance) == wanted:
        return False
    with running(instance, host):
        import_layout(instance, host, layout)
    put(instance.images_file, msgspec.json.encode(wanted, order="sorted").decode())
    return True


def import_layout(instance: ManagedRuntime, host: RuntimeHost, layout: OciLayout) -> None:
    """Import an image layout into the running containerd, where CRI looks for images. Raises ProgramFailed, OSError."""
    tar = f"{instance.root}/images.tar"
    try:
        write(tar, layout)
        _import(instance, host, tar)
    finally:
        Path(tar).unlink(missing_ok=True)


def _import(instance: ManagedRuntime, host: RuntimeHost, tar: str) -> None:
    argv = [host.ctr, "--address", instance.socket, "--namespace", "k8s.io", "images", "import"]
    argv += ["--snapshotter", "overlayfs" if host.overlay else "native", tar]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=scaled(_IMPORT_SECONDS), check=False)
    except subprocess.TimeoutExpired as error:
        raise ProgramFailed(f"ctr images import: not done in {scaled(_IMPORT_SECONDS):.0f} s") from error
    if done.returncode:
        raise ProgramFailed(f"ctr images import: {done.stderr.strip()[-_WORDS:]}")


@contextlib.contextmanager
def running(instance: ManagedRuntime, host: RuntimeHost) -> Iterator[None]:
    """A containerd for the duration of the block: a running one, or a new one."""
    if _accepts_connections(instance.socket):
        yield
        return
    process = spawn(instance, host)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(scaled(_STOP_SECONDS))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def spawn(
    instance: ManagedRuntime, host: RuntimeHost, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start containerd outside the tree and wait for its socket. It ends when the calling thread does.

    Raises NotAnswering with the end of its log, OSError.
    """
    with Path(instance.log_file).open("ab") as log:
        process = subprocess.Popen(
            ends_with_parent(program.argv(instance, host)),
            env={**os.environ, "PATH": host.search_path, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + scaled(_START_SECONDS)
    while not _accepts_connections(instance.socket):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise NotAnswering(f"containerd did not come up; {instance.log_file} ends with: {_tail(instance.log_file)}")
        time.sleep(_POLL_SECONDS)
    return process


def _imported(instance: ManagedRuntime) -> dict[str, str]:
    try:
        return msgspec.json.decode(read_private(instance.images_file), type=dict[str, str])
    except (OSError, *UNREADABLE):
        return {}


def _accepts_connections(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        return sock.connect_ex(path) == 0


def _tail(path: str) -> str:
    try:
        return Path(path).read_bytes()[-_WORDS:].decode(errors="replace").strip()
    except OSError as error:
        return f"({error_text(error)})"
