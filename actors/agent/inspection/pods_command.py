"""`supervise pods`: one line a pod."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from supervision.cli.command import NO_ANSWER, CommandError, Context
from supervision.cli.document import WIDE, form_of
from supervision.cli.text import left_out, left_out_text, table, terminal_columns, without, wrapped

from . import label_selector, pod_rows
from .node_pods import NodePods
from .node_view import NodeSight, view
from .printing import pod_list, print_documents, print_lines, print_objects, warn, watch
from .questions import pod_worker


def pods(context: Context) -> int:
    """Show them once, or again and again."""
    shown = _Shown()
    if context.arguments.watch:
        watch(lambda: _show_pods(context, shown))
    return _show_pods(context, shown)


class _Shown:
    """The last output of `supervise pods`: rows or API objects by UID, errors, problems, widths of columns."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[str, ...]] = {}
        self.objects: dict[str, Any] = {}
        self.refused: list[str] = []
        self.problems: list[str] = []
        self.widths: list[int] = []
        self.tries = 0
        """How often the agent was asked."""
        self.empty_shown = False
        """That there is no pod."""
        self.gone: Sequence[str] = ()
        """Columns for which the terminal had no room."""


def _show_pods(context: Context, shown: _Shown) -> int:
    """Print the pods that differ from `shown`, and update `shown`; the exit code."""
    arguments = context.arguments
    shown.tries += 1
    seen = view(context, or_without_agent=shown.tries == 1)
    found = seen.pods
    if found.by_runtime and arguments.selector:
        raise CommandError(NO_ANSWER, f"-l: no labels are known: {'; '.join(found.problems)}")
    chosen = [pod for pod in found.pods if _is_chosen(pod, arguments)]
    missing = None
    if arguments.name:
        chosen, missing = _named(seen, arguments)
        if missing is not None and not chosen:
            raise missing
    if not shown.problems:  # reported once, even if its text changes
        for problem in found.problems:
            warn(problem)
    shown.problems = found.problems
    show = _show_objects if context.form else _show_rows
    show(context, seen, chosen, shown)
    _say_refused(found.refused, shown, arguments)
    return _code(seen.code, missing)


def _show_objects(context: Context, seen: NodeSight, chosen: list[dict[str, Any]], shown: _Shown) -> None:
    arguments = context.arguments
    if not arguments.watch:
        print_objects(context, chosen[0] if len(arguments.name) == 1 else pod_list(chosen))
        return
    objects = {pod["metadata"]["uid"]: pod for pod in chosen}
    print_documents(context, [pod for uid, pod in objects.items() if shown.objects.get(uid) != pod])
    shown.objects = objects


def _show_rows(context: Context, seen: NodeSight, chosen: list[dict[str, Any]], shown: _Shown) -> None:
    arguments, found = context.arguments, seen.pods
    count = len(pod_rows.HEADER) + (len(pod_rows.WIDE) if arguments.output == WIDE else 0)
    header = (*(*pod_rows.HEADER, *pod_rows.WIDE)[:count], *(["LABELS"] if arguments.show_labels else []))
    rows = _rows(seen, chosen, count, labels=arguments.show_labels)
    # the age changes by itself
    fresh = [row for uid, row in rows.items() if _without_age(shown.rows.get(uid, ())) != _without_age(row)]
    if fresh and arguments.output == "name":
        print_lines(*(f"pod/{row[1]}" for row in sorted(fresh)))
    elif fresh:
        columns = 0 if arguments.output == WIDE else terminal_columns(sys.stdout)
        if not shown.rows:
            shown.gone = left_out(header, fresh, columns, pod_rows.SPARE)
        text = table(*without(shown.gone, header, sorted(fresh)), shown.widths)
        text += [] if shown.rows else left_out_text(shown.gone, columns)
        print_lines(*(text[1:] if shown.rows or arguments.no_headers else text))
    elif not shown.rows and (not found.refused or arguments.namespace or arguments.selector) and not shown.empty_shown:
        shown.empty_shown = True
        _say(f"no pods {'are known ' if found.problems else ''}{_where(found, arguments)}", arguments)
    shown.rows = rows


def _rows(seen: NodeSight, chosen: list[dict[str, Any]], count: int, *, labels: bool) -> dict[str, tuple[str, ...]]:
    """The first `count` columns of each pod by UID, and its labels."""
    now, found = time.time(), seen.pods
    rows: dict[str, tuple[str, ...]] = {}
    for pod in chosen:
        uid = pod["metadata"]["uid"]
        row = pod_rows.row(pod, now, pod_worker(pod, seen.workers), removed=uid in found.removed)
        rows[uid] = (*row[:count], *([pod_rows.labels(pod)] if labels else []))
    return rows


def _named(seen: NodeSight, arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], CommandError | None]:
    """The pods of these names, each once, and the error about the names that are no pod's."""
    chosen, errors = {}, []
    for name in arguments.name:
        try:
            pod = seen.pod(name, arguments.namespace)
            chosen[pod["metadata"]["uid"]] = pod
        except CommandError as error:
            errors.append(error)
    together = CommandError(errors[0].code, "\n".join(map(str, errors))) if errors else None
    return [*chosen.values()], together


def _code(code: int, missing: CommandError | None) -> int:
    """The exit code of what was shown. Raises `missing`."""
    if missing is not None:
        raise missing
    return code


def _is_chosen(pod: dict[str, Any], arguments: argparse.Namespace) -> bool:
    metadata = pod["metadata"]
    return arguments.namespace in ("", metadata.get("namespace")) and label_selector.matches(
        arguments.selector, metadata.get("labels") or {}
    )


def _where(found: NodePods, arguments: argparse.Namespace) -> str:
    """The text if there are no pods."""
    if not found.pods or not (arguments.namespace or arguments.selector):
        return "on this node"
    place = f"in namespace {arguments.namespace}" if arguments.namespace else "on this node"
    return f"{place} with these labels" if arguments.selector else place


def _without_age(row: tuple[str, ...]) -> tuple[str, ...]:
    # the sixth cell is the age; the fifth ends with the time since the last restart
    return (*row[:4], *(cell.partition(" ")[0] for cell in row[4:5]), *row[6:])


def _say_refused(refused: list[str], shown: _Shown, arguments: argparse.Namespace) -> None:
    """Print the errors of manifests that are new."""
    if not arguments.name:
        for error in refused:
            if error not in shown.refused:
                _say(f"refused: {error}", arguments)
    shown.refused = refused


def _say(text: str, arguments: argparse.Namespace) -> None:
    """Print a line that is not a pod: to stderr if a program reads stdout."""
    if arguments.output == "name" or form_of(arguments.output):
        warn(text)
    else:
        print_lines(*wrapped(text, terminal_columns(sys.stdout), "    ", ""))
