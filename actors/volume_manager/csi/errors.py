"""What goes wrong with drivers: values for users, as texts."""

from __future__ import annotations


class CsiError(Exception):
    """A driver, or what is to be asked of it, is not as it should be; asking again may help."""
