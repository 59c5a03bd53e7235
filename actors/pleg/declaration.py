"""The declaration of the PLEG."""

from __future__ import annotations

from typing import Final

from actors.shared.declaration import CRI, Declaration

from .messages import PLEG

DECLARATION: Final = Declaration(
    name=PLEG,
    actor="actors.pleg.actor:Pleg",
    reads=("runtimeRequestTimeout", "tracing", "podCIDR"),
    preload=CRI,
)
