"""An actor's address is its name in the tree. It is written once, in the `messages.py` of its package."""

from __future__ import annotations

from typing import NewType

ActorName = NewType("ActorName", str)
"""`pleg` or `pod_workers/worker/1`: always the incarnation that is in service."""
