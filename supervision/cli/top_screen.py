"""The terminal of `supervise top`: reads single keys, uses colours by rich if that is installed, and restores the
terminal."""

from __future__ import annotations

import codecs
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from .top_frame import Line
from .top_keys import keys_of

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_RICH_STYLES: Final = {
    "good": "green", "warning": "yellow", "bad": "bold red", "title": "bold", "dim": "dim", "chosen": "reverse",
}  # fmt: skip
_PLAIN_STYLES: Final = {"chosen": ("\x1b[7m", "\x1b[0m")}
_READ_BYTES: Final = 1024


class Screen:
    """The whole terminal, while `opened`."""

    def __init__(self, paint: Callable[[Line], str]) -> None:
        self._paint = paint
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def size(self) -> tuple[int, int]:
        """(width, height), never zero."""
        try:
            width, height = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            width = height = 0
        return width or 80, height or 24

    def show(self, lines: Sequence[Line]) -> None:
        """Write the lines from the top, and nothing else on the screen."""
        text = f"{_CLEAR_LINE}\n".join(self._paint(line) for line in lines)
        sys.stdout.write(f"{_HOME}{text}{_CLEAR_LINE}{_CLEAR_BELOW}")
        sys.stdout.flush()

    def keys(self, seconds: float) -> list[str]:
        """The keys that were pressed, after waiting at most `seconds` for the first; `q` when the terminal is gone."""
        if not select.select([sys.stdin], [], [], max(0.0, seconds))[0]:
            return []
        typed = os.read(sys.stdin.fileno(), _READ_BYTES)
        return list(keys_of(self._decoder.decode(typed))) if typed else ["q"]


@contextmanager
def opened() -> Iterator[Screen]:
    """Takes over the terminal for the block, and restores it. Raises OSError, termios.error."""
    before = termios.tcgetattr(sys.stdin)
    sys.stdout.write(_ENTER)
    try:
        tty.setcbreak(sys.stdin)
        yield Screen(_painter())
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


def _wants_no_colour() -> bool:
    """Whether the environment turns colours off, by the conventions of no-color.org and bixense.com/clicolors."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("CLICOLOR") == "0"


def _painter() -> Callable[[Line], str]:
    """Paints with rich, which knows the terminal's abilities; without rich only the selected row is highlighted."""
    if find_spec("rich") is None:
        return _styled_text
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, soft_wrap=True, no_color=_wants_no_colour() or None)

    def paint(line: Line) -> str:
        text = Text.assemble(*((piece, _RICH_STYLES.get(style, "")) for style, piece in line), end="")
        with console.capture() as captured:
            console.print(text, end="", no_wrap=True, overflow="ignore", crop=False)
        return captured.get()

    return paint


def _styled_text(line: Line) -> str:
    marks = ((*_PLAIN_STYLES.get(style, ("", "")), piece) for style, piece in line)
    return "".join(f"{begin}{piece}{end}" for begin, end, piece in marks)
