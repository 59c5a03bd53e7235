"""The error of an HTTP GET."""

from __future__ import annotations


class ExchangeError(Exception):
    """There is no response. The text has the words of Go's HTTP client."""
