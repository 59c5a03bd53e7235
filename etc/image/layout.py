"""An OCI image of one layer, made of the tar of a root filesystem: layout.py TAR DIRECTORY. Prints the file."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Final

from actors.container_runtime.oci import OciImage, build, write
from actors.shared.config.version import OWN_VERSION
from actors.shared.linux.architecture import architecture

CONFIG: Final = {
    "Entrypoint": ["/usr/bin/supervise"],
    "Cmd": ["start", "--config=/etc/troupelet/config.yaml"],
    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    "WorkingDir": "/",
}


def main(tar: str, directory: str) -> None:
    arch = architecture(platform.machine())
    image = OciImage(reference=f"localhost/troupelet:{OWN_VERSION}", tar=Path(tar).read_bytes(), config=CONFIG)
    file = Path(directory, f"troupelet-{OWN_VERSION}-{arch}.oci.tar")
    write(file, build([image], arch))
    sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
