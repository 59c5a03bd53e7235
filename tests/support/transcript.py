"""A document's boxes with what somebody types and what is answered, and whether a program still answers so.

A box is of the kind `text`. A line after `# ` is a command, the lines below it are its answer; `...` stands for any
lines. Words with a digit in them (times, process IDs, addresses, versions) and the width of columns may differ, and
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

ANY: Final = "..."
BOX: Final = re.compile(r"^```text\n(.*?)^```", re.M | re.S)
_COMMAND: Final = "\0"
_NUMBERED: Final = re.compile(r"[^\s()`']*\d[^\s()`']*")


class Step(NamedTuple):
    command: str
    answer: tuple[str, ...]


def steps(document: str, title: str) -> list[Step]:
    """Those in the boxes below the heading with this text."""
    _, found, rest = document.partition(f" {title}\n")
    assert found, f"there is no heading {title}"
    # a command in a box begins as a heading does
    rest = BOX.sub(lambda found: re.sub("^# ", _COMMAND, found[0], flags=re.M), rest)
    section = re.split(r"^#+ ", rest, maxsplit=1, flags=re.M)[0]
    made: list[tuple[str, list[str]]] = []
    for box in BOX.findall(section):
        for line in box.splitlines():
            if line.startswith(_COMMAND):
                made.append((line.removeprefix(_COMMAND), []))
            else:
                made[-1][1].append(line)
    return [Step(command, tuple(answer)) for command, answer in made]


def missing(shown: Sequence[str], answered: Sequence[str]) -> str:
    """The first line of the document that the answer does not have there; '' if it has all."""
    wanted, real = [plain(line) for line in shown], [plain(line) for line in answered]
    at, anywhere = 0, False
    for number, line in enumerate(wanted):
        if line == ANY:
            anywhere = True
            continue
        places = [place for place in range(at, len(real)) if real[place] == line]
        if not places or (not anywhere and places[0] != at):
            return shown[number]
        at, anywhere = places[0] + 1, False
    return "" if anywhere or at == len(real) else f"(the end; the answer goes on with: {answered[at]})"


def plain(line: str) -> str:
    """Without what differs from run to run."""
    return " ".join(_NUMBERED.sub("#", line).split())


def as_if(text: str, names: Mapping[str, str]) -> str:
    """With the names that the document has in place of those of the test, longest first."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text


def box(step: Step) -> str:
    return "\n".join(["```text", f"# {step.command}", *step.answer, "```"])


def only(lines: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Findings of `doctor` whose first line contains one of `wanted`, with their remedies."""
    found: list[str] = []
    taken = False
    for line in lines:
        taken = taken if line.startswith(" ") else any(word in line for word in wanted)
        if taken:
            found.append(line)
        elif not found or found[-1] != ANY:
            found.append(ANY)
    return found
