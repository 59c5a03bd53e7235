"""The supervision policy as a layer: checkpointed, put on trial and rolled back together with the configuration.

Only the file of --policy. Its text is stored unchanged; it is parsed where the tree is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from actors.shared.config.errors import ConfigErrors, ConfigProblem
from supervision.errors import error_reason

from .documents import MAX_BYTES, Document
from .layers import read_bounded

_KEY: Final = "supervisionPolicy"
"""The only key of its document. Other documents have apiVersion and kind."""


def read_policy(path: str) -> list[Document]:
    """The layer, in a list; empty without --policy. Raises ConfigErrors."""
    if not path:
        return []
    try:
        raw = read_bounded(path)
        if len(raw) > MAX_BYTES:
            raise ValueError(f"has more than {MAX_BYTES} bytes")
        return [Document(path, {_KEY: raw.decode()}, {})]
    except (OSError, ValueError) as error:
        reason = error_reason(error)
        raise ConfigErrors([ConfigProblem("--policy", path, f"cannot be read: {reason}")]) from None


def split_policy(documents: Sequence[Document]) -> tuple[list[Document], str]:
    """The layers of the configuration, and the text of the policy ('' if there is none)."""
    policies = [document for document in documents if document.data.keys() == {_KEY}]
    return [document for document in documents if document not in policies], str(
        policies[-1].data[_KEY] if policies else ""
    )
