"""Prints pods and events, as text or documents, once or repeatedly."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from supervision.cli.command import NO_ANSWER, NOT_RUNNING, CommandError, Context, as_typed
from supervision.cli.document import YAML, document_text
from supervision.cli.text import plain

WATCH_SECONDS: Final = 1.0


def watch(show: Callable[[], object]) -> None:
    """Show it each second, until Ctrl-C. If an actor or the agent does not answer, report that once and wait."""
    is_warned = False
    while True:
        time.sleep(WATCH_SECONDS)
        try:
            show()
            is_warned = False
        except CommandError as error:
            if error.code not in (NO_ANSWER, NOT_RUNNING):
                raise
            if not is_warned:
                warn(f"{error}; waiting for it")
            is_warned = True


def print_lines(*lines: str) -> None:
    _write(*map(plain, lines))


def _write(*lines: str) -> None:
    for line in lines:
        print(line)  # noqa: T201 - it is what the command is for
    sys.stdout.flush()


def warn(text: str) -> None:
    print(f"supervise: {plain(as_typed(text))}", file=sys.stderr)  # noqa: T201


def print_objects(context: Context, objects: Any) -> None:
    _write(document_text(objects, context.form))


def pod_list(pods: Sequence[Any]) -> dict[str, Any]:
    """The API object of several pods."""
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods}


def print_documents(context: Context, objects: Sequence[Any]) -> None:
    """Print one document for each, as they arrive."""
    for one in objects:
        if context.form == YAML:
            _write("---")
        print_objects(context, one)
