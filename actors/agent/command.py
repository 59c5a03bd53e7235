"""`supervise`: the one command. Called as `kubelet`, for example by a systemd unit, it is `supervise start`.

The start interns the names that actors use before any module that has them is imported (fork_server/name_layout.py). So
this module and what it imports before that do without the modules of the standard library that have most of them, such
as `re`, `typing`, `pathlib` and `argparse`: 3 MiB of memory of the whole tree.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, which would be imported for that
if TYPE_CHECKING:
    from collections.abc import Sequence

_TEXTS = frozenset({"-h", "--help", "--version", "--version=true", "--version=raw"})
"""With one of these the start may print a text and end, for which it needs no more imports. `start` finds the rarer
forms, such as --help=true."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit code."""
    from .shadowed_packages import shadowed

    if wrong := shadowed():
        sys.stderr.write(f"supervise: {wrong}\n")
        return 1
    words = list(sys.argv[1:] if argv is None else argv)
    if os.path.basename(sys.argv[0]) == "kubelet" and argv is None:
        return _start(words, "kubelet")
    if words[:1] == ["start"]:
        return _start(words[1:], "supervise start")
    from supervision.cli.streams import guarded

    from .subcommands import run

    return guarded(lambda: run(words))


def _start(words: list[str], program: str) -> int:
    from supervision.fork_server import early_signals

    early_signals.disregard()
    if _TEXTS & set(words):
        from actors.shared.config.commands import early_text
        from supervision.cli.streams import guarded

        if text := early_text(words, program):
            return guarded(lambda: _print(text))
    from supervision.fork_server.fork_hooks import drop_fork_hooks
    from supervision.fork_server.name_layout import bring_names_together

    from . import memory_profile

    bring_names_together(memory_profile.names())
    import gc

    gc.disable()  # until the first fork, because everything loaded until then stays
    drop_fork_hooks()
    # before anything else, so that what every actor uses lies side by side: 1.5 MiB of memory of the whole tree
    import supervision.fork_server.main  # noqa: F401

    from .start import start

    return start(words, program)


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
