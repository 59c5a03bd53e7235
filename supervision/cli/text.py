"""Formats durations, sizes, tables and trees. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol import FORK_SERVER, ActorState

_UNITS = (("d", 86400), ("h", 3600), ("m", 60))


def duration(seconds: float) -> str:
    """Two units at most: `3d4h`, `5m2s`, `4.2s`, `35ms`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    for at, (unit, length) in enumerate(_UNITS):
        if whole >= length:
            smaller, small_length = ("s", 1) if at == len(_UNITS) - 1 else _UNITS[at + 1]
            rest = whole % length // small_length
            return f"{whole // length}{unit}{rest}{smaller}" if rest else f"{whole // length}{unit}"
    return f"{whole}s"


def size(amount: int) -> str:
    """MiB with one decimal, `-` for nothing."""
    return f"{amount / 1024 / 1024:.1f}M" if amount else "-"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with aligned columns; the last column is not padded."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]


def branches(actors: Sequence[ActorState], top: str = FORK_SERVER) -> list[tuple[str, ActorState]]:
    """(drawn name, actor) for all, as a tree. The supervisor's part of a name is not repeated."""
    children: dict[str, list[ActorState]] = {}
    for actor in actors:
        children.setdefault(actor.parent, []).append(actor)
    drawn: list[tuple[str, ActorState]] = []

    def draw(parent: str, indent: str) -> None:
        own = children.get(parent, [])
        for actor in own:
            last = actor is own[-1]
            bend, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
            if parent == top:
                bend = below = ""
            drawn.append((indent + bend + actor.name.removeprefix(f"{parent}/"), actor))
            draw(actor.name, indent + below)

    draw(top, "")
    return drawn
