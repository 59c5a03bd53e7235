"""Parses the command line as pflag does and collects every problem. Pure.

`--flag value`, `--flag=value`, `--bool`, `--bool=false`; `-v 4`, `-v=4`, `-v4`, `-h`; `_` in a name is `-`; `--` ends
the flags; there are no positional arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from actors.shared.config.errors import MASKED, ConfigProblem, UsageErrors, shown
from supervision.documents.suggestions import did_you_mean

from .flag_table import ALIASES, FLAGS, REMOVED, Flag, RemovedFlag
from .run_once import given_flags
from .values import PARSERS

_SHORT: Final = {"v": "v", "h": "help"}
_VALUE_WHEN_BARE: Final = {"bool": "true", "version": "true"}
_SECRET_KINDS: Final = frozenset({"headers"})


class ParsedFlags:
    """A parsed command line."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        """Flag name to plain data, for the given flags."""
        self.written: dict[str, str] = {}
        """Flag name to its text, secrets masked."""
        self.warnings: list[str] = []
        self.problems: list[ConfigProblem] = []


def parse(argv: Sequence[str]) -> ParsedFlags:
    """Parse the arguments after the program's (and subcommand's) name. Raises nothing: see `problems`."""
    parsed = ParsedFlags()
    for name, text in _split(argv, parsed.problems):
        known = FLAGS.get(name)
        if known is not None:
            _take(known, text, parsed)
        else:
            _take_removed(REMOVED[name], text, parsed)
    typed = {name for name, _ in _split(given_flags(argv), [])}
    deprecated = sorted(name for name in parsed.values if name in typed and FLAGS[name].deprecated)
    fields, alone = ([name for name in deprecated if bool(FLAGS[name].field) is kind] for kind in (True, False))
    if fields:
        parsed.warnings.append(f"deprecated flags, set these in the file of --config instead: {_flag_names(fields)}")
    if alone:
        parsed.warnings.append(
            f"deprecated flags, which the kubelet will remove without replacement: {_flag_names(alone)}"
        )
    return parsed


def parse_or_raise(argv: Sequence[str]) -> ParsedFlags:
    """The same. Raises UsageErrors."""
    parsed = parse(argv)
    if parsed.problems:
        raise UsageErrors(parsed.problems)
    return parsed


def positional(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the words that are neither flags nor values of flags, the other words), for commands with arguments."""
    names: list[str] = []
    flags: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            names.append(word)
            continue
        flags.append(word)
        name, value = _long(word) if word.startswith("--") else _short(word)
        flag = FLAGS.get(name) or REMOVED.get(name)
        if flag is not None and value is None and flag.kind not in _VALUE_WHEN_BARE and rest:
            flags.append(rest.pop(0))
    return names, flags


def _split(argv: Sequence[str], problems: list[ConfigProblem]) -> Iterator[tuple[str, str]]:
    """(name, value text) of every known flag; anything else becomes a problem."""
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--" or not word.startswith("-") or word == "-":
            extra = rest if word == "--" else [word]
            problems.extend(ConfigProblem(item, "", "unexpected argument: only flags are accepted") for item in extra)
            if word == "--":
                return
            continue
        name, value = _long(word) if word.startswith("--") else _short(word)
        flag = FLAGS.get(name) or REMOVED.get(name)
        if flag is None:
            problems.append(ConfigProblem(path=word.partition("=")[0], value="", rule=_unknown_flag_text(name)))
            continue
        if value is None:
            value = _VALUE_WHEN_BARE.get(flag.kind)
        if value is None and not rest:
            problems.append(ConfigProblem(path=f"--{name}", value="", rule="needs a value"))
            continue
        yield name, rest.pop(0) if value is None else value


def _long(word: str) -> tuple[str, str | None]:
    name, mark, value = word[2:].partition("=")
    name = name.replace("_", "-")
    return ALIASES.get(name, name), value if mark else None


def _short(word: str) -> tuple[str, str | None]:
    """-h, -v 4, -v=4, -v4. An unknown letter keeps its dash for the error message."""
    name = _SHORT.get(word[1])
    if name is None or (name == "help" and len(word) > 2):
        return word, None
    return name, word[2:].removeprefix("=") or None


def _unknown_flag_text(name: str) -> str:
    return f"unknown flag{did_you_mean(name, [*FLAGS, *REMOVED], before='--')}"


def _take(flag: Flag, text: str, parsed: ParsedFlags) -> None:
    try:
        parsed.values[flag.name] = PARSERS[flag.kind](text, parsed.values.get(flag.name))
    except ValueError as error:
        secret = flag.secret or flag.kind in _SECRET_KINDS
        parsed.problems.append(ConfigProblem(f"--{flag.name}", MASKED if secret else shown(text), str(error)))
        return
    written = MASKED if flag.secret or flag.kind in _SECRET_KINDS else text
    first = parsed.written.get(flag.name)
    collects = flag.kind in {"list", "map", "labels", "less_map", "gates", "reserved_memory", "vmodule"}
    parsed.written[flag.name] = f"{first},{written}" if first and collects else written
    if flag.missing and first is None:
        parsed.warnings.append(f"--{flag.name} has no effect: there is no {flag.missing}")


def _take_removed(flag: RemovedFlag, text: str, parsed: ParsedFlags) -> None:
    try:
        value = PARSERS[flag.kind](text, None)
    except ValueError as error:
        parsed.problems.append(ConfigProblem(f"--{flag.name}", shown(text), str(error)))
        return
    word = {True: "true", False: "false"}.get(value, text) if isinstance(value, bool) else text
    refused = flag.accepted is not None and word not in flag.accepted
    if refused and not (flag.accepted == () and word == "false"):
        parsed.problems.append(ConfigProblem(f"--{flag.name}", shown(text), f"this flag was removed: {flag.text}"))
    else:
        parsed.warnings.append(f"--{flag.name} was removed and is ignored: {flag.text}")


def _flag_names(names: Sequence[str]) -> str:
    return ", ".join(f"--{name}" for name in names)
