"""Formats durations, sizes, tables and trees for the width of the terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import TextIO

from ..protocol import FORK_SERVER, ActorState

_LEAST_COLUMNS = 30
_EXAMPLE = re.compile(r" {4}[^ \d]")
_LABEL = re.compile(r" {2}\w+: +| +\d {2}| +")
"""What a line begins with: a word with a colon, an exit code, or an indent alone."""
_COMMAND = re.compile(r"`[^`\n]*`")
_NO_BREAK = "\0"
"""In the place of a space at which no line may end. No text has it: `plain` shows it as ^@."""
_UNITS = (("d", 86400), ("h", 3600), ("m", 60))
_CONTROLS = {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127) if chr(code) not in "\t\n"}
_CONTROLS |= {code: f"\\x{code:02x}" for code in range(128, 160)}
_COLOURS = re.compile(r"(\x1b\[[0-9;]*m|\r)")


def plain(text: str) -> str:
    """The text with control characters shown as `^[`. Pods write into events and messages, and must not control the
    terminal of the reader (CVE-2021-25743)."""
    return text.translate(_CONTROLS)


def plain_but_colours(text: str) -> str:
    """Like `plain`, but colours, and a return to the begin of the line, stay: for what programs write to terminals."""
    parts = _COLOURS.split(text)
    return "".join(part if at % 2 else plain(part) for at, part in enumerate(parts))


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


def table(header: Sequence[str], rows: Sequence[Sequence[str]], widths: list[int] | None = None) -> list[str]:
    """Lines with aligned columns; the last column is not padded. `widths`: the column widths of an earlier part of the
    same table; updated."""
    wide = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    if widths is not None:
        widths[:] = [max(both) for both in zip_longest(wide, widths, fillvalue=0)]
        wide = widths
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in (header, *rows)
    ]


def narrow_table(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int, spare: Sequence[str]) -> list[str]:
    """The table. If it is wider than `columns`, the width of the terminal (0: no limit), `spare` columns are left out
    in their order until it fits. A last line names the columns left out."""
    gone = left_out(header, rows, columns, spare)
    return [*table(*without(gone, header, rows)), *left_out_text(gone, columns)]


def left_out(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int, spare: Sequence[str]) -> Sequence[str]:
    """The `spare` columns, in their order, for which a table of at most `columns` letters (0: no limit) has no room."""
    gone = 0
    while columns and gone < len(spare) and max(map(len, table(*without(spare[:gone], header, rows)))) > columns:
        gone += 1
    return spare[:gone]


def without(
    gone: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The header and the rows without these columns."""
    kept = [at for at, name in enumerate(header) if name not in gone]
    return [header[at] for at in kept], [[row[at] for at in kept] for row in rows]


def left_out_text(gone: Sequence[str], columns: int) -> list[str]:
    """The lines that name the columns for which the terminal has no room; none if there are none."""
    return wrapped(f"not in {columns} columns: {', '.join(gone)}", columns) if gone else []


def table_with_texts(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: int,
    widths: list[int] | None = None,
    spare: Sequence[str] = (),
) -> list[list[str]]:
    """The lines of a table whose last cells are sentences, header first, one list per row. If the table is wider than
    `columns` (0: no limit), the sentences are below their rows, and `spare` columns are left out until these fit; rows
    that still do not fit are folded."""
    lines = table(header, rows, widths)
    if not columns or max(map(len, lines)) <= columns:
        return [[line] for line in lines]
    shorter = [row[:-1] for row in rows]
    names, cells = without(left_out(header[:-1], shorter, columns, spare), header[:-1], shorter)
    known = dict(zip(header, widths, strict=True)) if widths is not None else None
    blocks = [[line] for line in table(names, cells, None if known is None else [known[name] for name in names])]
    if max(len(line) for lines in blocks for line in lines) > columns:
        blocks = [wrapped("  ".join(row), columns, "  ", "") for row in (names, *cells)]
    below = [wrapped(row[-1], columns, "    ") if row[-1] != "-" else [] for row in rows]
    return [blocks[0], *([*first, *texts] for first, texts in zip(blocks[1:], below, strict=True))]


def wrapped(text: str, columns: int, indent: str = "", first: str | None = None) -> list[str]:
    """A sentence in lines of at most `columns` letters, except for longer words, and commands between backticks, which
    are copied; 0: in one line. `first`: the indent of the first line, if it differs."""
    if not columns:
        return [f"{indent if first is None else first}{text}"]
    from textwrap import wrap

    lines = wrap(
        _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), text),
        max(columns, _LEAST_COLUMNS),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in lines]


def for_terminal(text: str, stream: TextIO) -> str:
    """The text with lines that fit the terminal of the stream, if it has one; further lines are indented."""
    columns = terminal_columns(stream)
    return "\n".join(part for line in text.split("\n") for part in wrapped(line, columns, "  ", "") or [""])


def folded(text: str, columns: int) -> str:
    """The text, with each paragraph wrapped that has a line longer than `columns` (0: no limit); further lines of one
    with a label are indented to its text. Examples, which are indented by four, stay as they are, to be copied."""
    paragraphs: list[list[str]] = []
    for line in text.split("\n"):
        if paragraphs and _continues(paragraphs[-1][0], line):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    return "\n".join(part for lines in paragraphs for part in _filled(lines, columns))


def _continues(first: str, line: str) -> bool:
    """Whether the line belongs to the paragraph that begins with `first`: without an indent, or behind a label."""
    label = _label(first)
    if not first.strip() or not line.strip() or (label and label.isspace()) or _EXAMPLE.match(first):
        return False
    return _label(line) == " " * len(label)


def _filled(lines: Sequence[str], columns: int) -> Sequence[str]:
    if not columns or max(map(len, lines)) <= columns or _EXAMPLE.match(lines[0]):
        return lines
    begin = _label(lines[0])
    words = " ".join(line[len(begin) :] for line in lines)
    return wrapped(words, columns, " " * len(begin), begin)


def _label(line: str) -> str:
    found = _LABEL.match(line)
    return found.group() if found else ""


def terminal_columns(stream: TextIO) -> int:
    """The width of the stream's terminal; 0 if the stream is no terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return 0


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
            branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
            name = actor.name.removeprefix(f"{parent}/")
            if parent == top:
                branch, below, name = "", "", actor.name
            drawn.append((indent + branch + name, actor))
            draw(actor.name, indent + below)

    draw(top, "")
    return drawn
