"""The errors of an HTTP GET."""

from __future__ import annotations


class ExchangeError(Exception):
    """There is no response. The text has the words of Go's HTTP client."""


class OwnShortageError(ExchangeError):
    """This process lacked descriptors, threads or memory for it, so nothing was sent: it says nothing of the server."""
