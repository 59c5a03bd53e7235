"""The two images that a managed runtime has from the start: what sandboxes run, and busybox for samples and tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from actors.shared.linux.architecture import architecture
from supervision.time_scale import scaled

from . import pause
from .errors import MissingPrograms
from .oci import LayerEntry, OciImage, OciLayout, build

SANDBOX_IMAGE: Final = "registry.k8s.io/pause:3.9"
BUSYBOX_IMAGE: Final = "docker.io/library/busybox:latest"
BUSYBOX: Final = "/bin/busybox"
_LIST_SECONDS: Final = 10

_DIRECTORIES: Final = {"root": 0o700, "tmp": 0o1777} | dict.fromkeys(
    ("bin", "dev", "etc", "home", "lib", "proc", "sys", "usr", "usr/bin", "var"), 0o755
)
_FILES: Final = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n"
    "app:x:1000:1000:app:/home:/bin/sh\n",
    "etc/group": "root:x:0:\nnobody:x:65534:\napp:x:1000:\nextra:x:2000:app\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def first_images(machine: str, busybox: str = BUSYBOX) -> OciLayout:
    """Write both images into one layout. Raises MissingPrograms without busybox, OSError."""
    if not Path(busybox).exists():
        raise MissingPrograms({busybox: "busybox-static"})
    return build((sandbox_image(machine, busybox), busybox_image(busybox)), architecture(machine))


def sandbox_image(machine: str, busybox: str = BUSYBOX) -> OciImage:
    """The program of the sandbox image: our own, or a sleeping busybox on machines that it does not support."""
    if machine == "x86_64":
        config = {"Entrypoint": ["/pause"], "User": "65535:65535", "WorkingDir": "/"}
        return OciImage(reference=SANDBOX_IMAGE, entries=(LayerEntry("pause", data=pause.x86_64()),), config=config)
    entries = (LayerEntry("bin"), LayerEntry("bin/busybox", data=Path(busybox).read_bytes()))
    # a shell, because it reaps orphans; the trap ends it on SIGTERM, which pid 1 ignores without a handler
    script = "trap 'exit 0' TERM INT; while :; do /bin/busybox sleep 3600 & wait $!; done"
    config = {"Entrypoint": ["/bin/busybox", "sh", "-c", script], "WorkingDir": "/"}
    return OciImage(reference=SANDBOX_IMAGE, entries=entries, config=config)


def busybox_image(busybox: str = BUSYBOX) -> OciImage:
    """A small system: busybox under all its names, a few users, the usual directories."""
    entries = [LayerEntry(path, mode) for path, mode in sorted(_DIRECTORIES.items())]
    entries.append(LayerEntry("bin/busybox", data=Path(busybox).read_bytes()))
    entries += [LayerEntry(f"bin/{name}", 0o777, target="busybox") for name in _applets(busybox) if name != "busybox"]
    entries.append(LayerEntry("usr/bin/env", 0o777, target="/bin/busybox"))
    entries += [LayerEntry(path, 0o644, text.encode()) for path, text in _FILES.items()]
    config = {"Cmd": ["sh"], "Env": [_PATH], "WorkingDir": "/"}
    return OciImage(reference=BUSYBOX_IMAGE, entries=tuple(entries), config=config)


def _applets(busybox: str) -> list[str]:
    listed = subprocess.run(
        [busybox, "--list"], capture_output=True, text=True, check=True, timeout=scaled(_LIST_SECONDS)
    )
    return sorted(listed.stdout.split())
