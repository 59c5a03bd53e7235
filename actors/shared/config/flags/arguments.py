"""The flags of the start on an argparse parser: for completion and manual pages, which read parsers. Flags themselves
are parsed by `parsing`, whose rules argparse does not know."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from .usage import documented

_SHORT = {"v": ("-v",), "help": ("-h",)}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add every flag of the start, in the groups of its --help."""
    for heading, flags in documented():
        group = parser.add_argument_group(heading)
        for flag, text in flags:
            names = list(_names(flag.name))
            about = text.replace("%", "%%")
            if flag.kind == "bool":
                group.add_argument(*names, action="store_true", help=about)
            else:
                group.add_argument(*names, metavar=flag.kind.replace("_", "-"), help=about)


def _names(name: str) -> Iterator[str]:
    yield from _SHORT.get(name, ())
    yield f"--{name}"
