"""The hash that shows whether a container's spec has changed. The Go kubelet uses the same."""

from __future__ import annotations

import json

from actors.shared.fnv import fnv1a_32
from actors.shared.kube.container import Container


def container_hash(container: Container) -> str:
    """Hex, of name and image only: other changes of a running pod do not restart its containers."""
    hashed_fields = {"image": container.image, "name": container.name}
    text = json.dumps(hashed_fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&":  # Go's encoder escapes these
        text = text.replace(char, f"\\u{ord(char):04x}")
    # the kubelet does not hash these bytes, but the text that its dump library prints for the slice
    dumped = f"([]uint8)[{' '.join(map(str, text.encode()))}]"
    return f"{fnv1a_32(dumped):x}"
