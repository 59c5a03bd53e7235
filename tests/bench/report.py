"""Figures as a table, as JSON, and compared: those of two commits, or of the same one on two days."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.support.fork_server_process import ROOT_DIR

BARS: Final = {
    "pods.1.p50": "floor + 45 ms",
    "pods.10.last": "1.15 x floor",
    "start.healthz": "0.8 s",
    "idle.10.cpu": "1.2 % of a core",
    "idle.10.pss": "150 MiB",
    "kill.median": "0.2 s",
    "hang.replaced": "12 s",
    "config.load": "0.03 s",
    "admission.all": "floor + 2 ms",
    "admission.all.cpu": "floor + 2 ms",
    "managers.eviction.cpu": "floor + 0.5 points",
    "managers.eviction.pss": "floor + 9.5 MiB",
    "eviction.polling": "12 s",
    "eviction.notified": "1 s",
    "joined.ready": "1.5 s",
    "joined.1.last": "0.6 s",
    "joined.10.last": "2.0 s",
    "joined.restart.current": "3 s",
    "joined.restart.containers": "0",
    "joined.restart.not_ready": "0",
    "joined.110.cpu": "5 % of a core",
    "joined.110.pss": "220 MiB",
}
"""What these are to stay below: standalone, and joined."""


class Figure(msgspec.Struct, frozen=True):
    """One line of the report. `value` and `floor` in `unit`; the floor is what the same takes without
    what is measured: a bare client instead of the agent, an admission without managers."""

    key: str
    what: str
    value: float
    unit: str
    floor: float | None = None
    count: int = 1
    """How many measurements it is the median of."""

    @property
    def bar(self) -> float | None:
        """Its bar in the same unit."""
        text = BARS.get(self.key)
        if text is None:
            return None
        if self.floor is None or "floor" not in text:
            return float(text.split()[0])
        if "+" not in text:
            return self.floor * float(text.split()[0])
        _, _, more, unit = text.split()
        return self.floor + float(more) / (1000 if unit == "ms" else 1)


class Report(msgspec.Struct, frozen=True):
    circumstances: dict[str, Any]
    figures: list[Figure]


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank: one of the values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def circumstances(runtime: str) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "commit": _git("describe", "--always", "--dirty", "--abbrev=12"),
        "at": time.strftime("%Y-%m-%d %H:%M:%S"),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "runtime": runtime,
        "load": round(os.getloadavg()[0], 2),
    }


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT_DIR, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def median_of(key: str, what: str, values: Sequence[float], unit: str, floors: Sequence[float] = ()) -> Figure:
    floor = statistics.median(floors) if floors else None
    return Figure(key, what, statistics.median(values), unit, floor, len(values))


# -- text -----------------------------------------------------------------------------------------------------------
def table(report: Report) -> str:
    """For people."""
    facts = ", ".join(f"{name} {value}" for name, value in report.circumstances.items())
    rows: list[tuple[str, ...]] = [("", "measured", "floor", "x floor", "bar", "", "of")]
    rows += [_row(figure) for figure in report.figures]
    return f"{facts}\n{_aligned(rows)}"


def _row(figure: Figure) -> tuple[str, ...]:
    floor, bar = figure.floor, figure.bar
    return (
        figure.what,
        f"{_number(figure.value)} {figure.unit}",
        f"{_number(floor)} {figure.unit}" if floor is not None else "",
        f"{figure.value / floor:.2f}" if floor else "",
        f"<= {_number(bar)}" if bar is not None else "",
        "" if bar is None else "ok" if figure.value <= bar else "MISSED",
        str(figure.count),
    )


def compared(old: Report, new: Report) -> str:
    """Two reports side by side; a ratio below 1 is an improvement but for what counts per second."""
    before = {figure.key: figure for figure in old.figures}
    rows = [("", "before", "after", "after/before")]
    for figure in new.figures:
        known = before.get(figure.key)
        if known is not None:
            ratio = f"{_size(figure) / _size(known):.2f}" if _size(known) else ""
            rows.append((figure.what, _shown(known), _shown(figure), ratio))
    heads = [f"{name}: {', '.join(f'{k} {v}' for k, v in one.circumstances.items())}" for name, one in _named(old, new)]
    return "\n".join((*heads, _aligned(rows)))


def _named(old: Report, new: Report) -> list[tuple[str, Report]]:
    return [("before", old), ("after", new)]


def _size(figure: Figure) -> float:
    """Ratios to the floor are compared where there is one: the machine was not the same on both days."""
    return figure.value / figure.floor if figure.floor else figure.value


def _shown(figure: Figure) -> str:
    text = f"{_number(figure.value)} {figure.unit}"
    return f"{text} ({figure.value / figure.floor:.2f} x floor)" if figure.floor else text


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


# -- files ----------------------------------------------------------------------------------------------------------
def write(report: Report, path: Path) -> None:
    path.write_text(json.dumps(msgspec.to_builtins(report), indent=1) + "\n")


def read(path: Path) -> Report:
    """Raises OSError, msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=Report)
