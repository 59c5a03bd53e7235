"""--help: every flag with its default, in groups."""

from __future__ import annotations

from typing import Final

from actors.shared.config.explain import entries, flag_text

from .table import CADVISOR, FILES, FLAGS, GENERAL, IMAGES, NODE, OWN, SERVER, Flag

_CONFIGURED: Final = "Fields of the configuration that also have a flag"
_DEPRECATED: Final = "Deprecated as flags: set these fields in the file given to --config"
_ORDER: Final = (GENERAL, FILES, NODE, SERVER, IMAGES, OWN, _CONFIGURED, _DEPRECATED, CADVISOR)
_INTRODUCTION: Final = """\
Usage: {program} [flags]

Runs the node agent. Precedence of values, lowest first: defaults, the file given to --config, the drop-ins of
--config-dir, flags. `supervise config explain FIELD` documents any field or flag.
"""


def group_of(flag: Flag) -> str:
    """The heading of a flag in the help text."""
    if not flag.field:
        return flag.group
    return _DEPRECATED if flag.deprecated else _CONFIGURED


def help_text(program: str = "supervise start") -> str:
    """The help text of the start command `program`."""
    documented = {entry.path: (entry.text, entry.default) for entry in entries()}
    sections = [_INTRODUCTION.format(program=program)]
    for group in _ORDER:
        flags = sorted((flag for flag in FLAGS.values() if group_of(flag) == group), key=lambda flag: flag.name)
        lines = [_line(flag, *(documented[flag.field] if flag.field else flag_text(flag))) for flag in flags]
        sections.append("\n".join([f"{group}:", *lines, ""]))
    return "\n".join(sections)


def _line(flag: Flag, text: str, default: str) -> str:
    kind = "" if flag.kind == "bool" else f" {flag.kind.replace('_', '-')}"
    short = {"v": "-v, --v", "help": "-h, --help"}.get(flag.name, f"--{flag.name}")
    shown = default.strip('"')
    ending = f" (default {shown})" if shown not in {"", "[]", "{}", "unset", "false"} else ""
    if flag.deprecated and not flag.field:
        ending += " (deprecated)"
    return f"  {short}{kind}\n        {text}{ending}"
