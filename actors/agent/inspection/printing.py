"""Prints pods and events, as text or documents, once or repeatedly."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from supervision.cli.command import NO_ANSWER, NOT_RUNNING, OK, CommandError, Context
from supervision.cli.document import YAML, document_text
from supervision.cli.text import for_terminal, plain
from supervision.cli.typed_commands import as_typed

WATCH_SECONDS: Final = 1.0


def watch(show: Callable[[], int]) -> NoReturn:
    """Show it now and each second, until Ctrl-C. If an actor or the agent does not answer, report that once, and when
    it answers again. `show` returns the exit code of what it has shown; if that is not OK, it
    has said why."""
    is_silent = False
    while True:
        try:
            code, why = show(), "no answer; "
        except CommandError as error:
            if error.code not in (NO_ANSWER, NOT_RUNNING):
                raise
            code, why = error.code, f"{error}; "
        if code == OK and is_silent:
            warn("it answers again")
        if code != OK and not is_silent:
            warn(f"{why}waiting for it")
        is_silent = code != OK
        time.sleep(WATCH_SECONDS)


def print_lines(*lines: str) -> None:
    _write(*map(plain, lines))


def _write(*lines: str) -> None:
    for line in lines:
        print(line)  # noqa: T201 - it is what the command is for
    sys.stdout.flush()


def warn(text: str) -> None:
    print(for_terminal(f"supervise: {plain(as_typed(text))}", sys.stderr), file=sys.stderr)  # noqa: T201


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
