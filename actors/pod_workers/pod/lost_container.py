"""A container that the runtime has lost."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.restart_policy import KILLED

UNKNOWN_SANDBOX: Final = "unknown"
"""In place of the id of a sandbox: it is not known in which one the container ran."""


class LostContainer(msgspec.Struct, frozen=True):
    """A container of which the runtime no longer has any instance, since another program has removed them."""

    sandbox_id: str
    """That of the sandbox in which it ran, or UNKNOWN_SANDBOX."""
    exit_code: int = KILLED
    """How it had ended; how it ended is not known of one that ran, which counts as killed."""
