"""Logs in klog's text or JSON format, to stderr and to a file. The logger's name is the actor's name.

Verbosity is klog's: `-v 0` is for what always matters, 2 is usual, 4 is for debugging. In Python's terms INFO is V(0)
and DEBUG is V(4); `V(n)` gives the level of the others.

Text:  I1120 20:07:50.000000    1234 actor.py:42] "syncing" logger="pleg"
JSON:  {"ts":1763669270000.0,"caller":"pleg/actor.py:42","msg":"syncing","v":0,"pid":1234,"logger":"pleg"}
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

import msgspec

from .errors import UNREADABLE, error_text
from .log_streams import Console
from .protocol import Split

Format = Literal["text", "json"]
Rules = Sequence[tuple[str, int]]
_SEVERITIES = ((logging.CRITICAL, "F"), (logging.ERROR, "E"), (logging.WARNING, "W"))
_DEBUGGING = 4
_LIBRARIES: Final = ("asyncio", "grpc")
"""Libraries whose lines for debugging are of no actor, and tell of their own insides."""
_LIBRARY_VERBOSITY: Final = 8
"""The verbosity from which these lines are logged, too."""
_STDERR_FROM: dict[str, int] = {"text": logging.WARNING, "json": logging.ERROR}
"""The lowest level that goes to stderr when the streams are split, as in the kubelet: JSON has no warnings."""


def V(verbosity: int) -> int:
    """The level of a message of klog's V(n), for `log.log(V(3), ...)`. V(0) is INFO, V(4) is DEBUG."""
    if verbosity < _DEBUGGING:
        return logging.INFO - max(0, verbosity)
    return max(1, logging.DEBUG - (verbosity - _DEBUGGING))


def _verbosity(level: int) -> int:
    """The n of V(n)."""
    return max(0, logging.INFO - level) if level > logging.DEBUG else _DEBUGGING + logging.DEBUG - level


class _Threshold(logging.Filter):
    """Logs records from `level` on; where a rule matches, from that rule's level on."""

    def __init__(self) -> None:
        super().__init__()
        self.level = logging.INFO
        self.rules: tuple[tuple[str, int], ...] = ()

    def filter(self, record: logging.LogRecord) -> bool:
        level = record.levelno
        if level >= self.level or not self.rules:
            return level >= self.level
        file = record.module
        return any(
            level >= least and (fnmatchcase(record.name, pattern) or fnmatchcase(file, pattern))
            for pattern, least in self.rules
        )


_threshold = _Threshold()


def set_verbosity(verbosity: int) -> None:
    """Set the log level of this process: up to V(verbosity); only warnings and errors for a negative number."""
    _threshold.level = logging.WARNING if verbosity < 0 else V(verbosity)
    logging.getLogger().setLevel(min([_threshold.level, *(level for _, level in _threshold.rules)]))
    for name in _LIBRARIES:
        wanted = verbosity >= _LIBRARY_VERBOSITY or any(fnmatchcase(name, pattern) for pattern, _ in _threshold.rules)
        logging.getLogger(name).setLevel(logging.NOTSET if wanted else logging.WARNING)


def reconfigure(*, verbosity: int, form: Format, vmodule: Rules = (), split: Split | None = None) -> None:
    """Change the log settings of this process; arguments as for `configure`."""
    formatter = KlogFormatter() if form == "text" else JsonFormatter()
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Console):
            handler.unsplit()
            if split is not None:
                handler.split(_STDERR_FROM[form], split.buffer_bytes, split.flush_seconds)
        handler.setFormatter(formatter)
        if _threshold not in handler.filters:
            handler.addFilter(_threshold)
    _threshold.rules = tuple((pattern, V(least)) for pattern, least in vmodule)
    set_verbosity(verbosity)


def flush(*, due: bool = False) -> None:
    """Write the buffer; `due`: only if it is old enough. Called periodically, and before the end."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Console):
            handler.flush_information(due=due)


def forget() -> None:
    """In a forked child, before its first line: drop the buffer, which the parent writes."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Console):
            handler.forget()


def configure(
    *,
    verbosity: int = 2,
    form: Format = "text",
    log_file: str = "",
    vmodule: Rules = (),
    split: Split | None = None,
) -> None:
    """Set up the root logger: stderr, and the file if given. Raises OSError if the file cannot be opened.

    `vmodule`: (pattern, verbosity) for actors, or source files without .py, whose names match the pattern: those log up
    to that verbosity as well. `split`: lines that are not errors go to stdout; None: all lines go to stderr.

    Called once, before the first fork: every actor inherits it. The file is opened to append, so that writers do not
    overwrite each other. To rotate it, copy and truncate, or restart the agent.
    """
    handlers: list[logging.Handler] = [Console(sys.stderr)]
    if log_file:
        fd = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        handlers.append(logging.StreamHandler(os.fdopen(fd, "w", encoding="utf-8", errors="replace", buffering=1)))
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    reconfigure(verbosity=verbosity, form=form, vmodule=vmodule, split=split)
    # an unwritable log (disk full, reader gone) must neither end an actor nor fill stderr
    logging.raiseExceptions = False


_LATER_CONTROLS: Final = {code: f"\\u{code:04x}" for code in range(127, 160)}
"""JSON escapes the control characters of ASCII only, not these."""


class KlogFormatter(logging.Formatter):
    """klog's header, the quoted message, then the pairs. One line, except for a traceback, which follows it."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.localtime(record.created)
        micros = int(record.created % 1 * 1_000_000)
        stamp = f"{time.strftime('%m%d %H:%M:%S', when)}.{micros:06d}"
        head = f"{_severity(record.levelno)}{stamp} {record.process or 0:>7} {record.filename}:{record.lineno}]"
        line = f"{head} {_quote(_message(record))} logger={_quote(record.name)}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line, with the keys of Kubernetes' JSON format; `ts` is milliseconds since the epoch."""

    def format(self, record: logging.LogRecord) -> str:
        path = os.path.join(*record.pathname.split(os.sep)[-2:])
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "caller": f"{path}:{record.lineno}",
            "msg": _message(record),
        }
        if record.levelno >= logging.WARNING:
            line["severity"] = logging.getLevelName(record.levelno).lower()
        else:
            line["v"] = _verbosity(record.levelno)
        line |= {"pid": record.process, "logger": record.name}
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False, separators=(",", ":")).translate(_LATER_CONTROLS)


def _message(record: logging.LogRecord) -> str:
    """The message. An OSError among its arguments is shown without its number."""
    given = record.args
    if isinstance(given, tuple) and any(isinstance(one, OSError) for one in given):
        return str(record.msg) % tuple(error_text(one) if isinstance(one, OSError) else one for one in given)
    return record.getMessage()


def _severity(level: int) -> str:
    return next((letter for least, letter in _SEVERITIES if level >= least), "I")


def _quote(text: str) -> str:
    """As Go's %q does it: quoted, with control characters escaped."""
    return json.dumps(text, ensure_ascii=False).translate(_LATER_CONTROLS)


class _NamedLine(msgspec.Struct):
    """What is read of a line in JSON."""

    logger: str = ""


_NAMED_LINE: Final = msgspec.json.Decoder(_NamedLine)


def actor_of(line: str) -> str:
    """The actor of a line in either format; '' if it names none (a traceback, another program)."""
    if line.startswith("{"):
        try:
            return _NAMED_LINE.decode(line).logger
        except UNREADABLE:
            return ""
    if len(line) > 2 and line[0] in "IWEF" and line[1].isdigit():
        _, mark, rest = line.rpartition(' logger="')
        return rest.partition('"')[0] if mark else ""
    return ""
