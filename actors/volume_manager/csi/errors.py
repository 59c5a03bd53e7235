"""Errors of drivers; users see the texts."""

from __future__ import annotations


class CsiError(Exception):
    """A driver failed, or something that it depends on is missing; a retry may succeed."""
