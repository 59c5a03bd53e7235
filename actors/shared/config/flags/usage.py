"""--help: every flag with its default, in groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.shared.config.documentation import entries, flag_text
from actors.shared.config.explanation import shown_default

from .flag_table import CADVISOR, FILES, FLAGS, GENERAL, IMAGES, NODE, OWN, SERVER, Flag

_CONFIGURED: Final = "Fields of the configuration that also have a flag"
_DEPRECATED: Final = "Deprecated as flags: set these fields in the file given to --config"
_ORDER: Final = (GENERAL, FILES, NODE, SERVER, IMAGES, OWN, _CONFIGURED, _DEPRECATED, CADVISOR)
_INTRODUCTION: Final = """\
Usage: {program} [flags]

Runs the node agent. Precedence of values, lowest first: defaults, the file given
to --config, the drop-ins of --config-dir, flags. `supervise config explain FIELD`
documents any field or flag.

"""
_END: Final = """\
Examples:

    {program} --config=/etc/troupelet/config.yaml
    {program} --config=etc/kubelet-config.yaml --container-runtime-endpoint=managed
    {program} --config=/var/lib/kubelet/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf

Exit codes:

    0  it was stopped in order (`supervise stop`, SIGTERM, SIGINT);
       --help, --version
    1  it could not start (the errors are printed); the root supervisor gave up;
       a second signal ended it
"""


def group_of(flag: Flag) -> str:
    """The heading of a flag in the help text."""
    if not flag.field:
        return flag.group
    return _DEPRECATED if flag.deprecated else _CONFIGURED


def documented() -> Iterator[tuple[str, list[tuple[Flag, str]]]]:
    """(heading, [(flag, its text with the default)]), in the order of --help."""
    known = {entry.path: (entry.text, shown_default(entry.default)) for entry in entries()}
    for group in _ORDER:
        flags = sorted((flag for flag in FLAGS.values() if group_of(flag) == group), key=lambda flag: flag.name)
        yield group, [(flag, _text(flag, *(known[flag.field] if flag.field else flag_text(flag)))) for flag in flags]


def help_text(program: str = "supervise start") -> str:
    """The help text of the start command `program`."""
    sections = [_INTRODUCTION.format(program=program) + ending(program)]
    for group, flags in documented():
        sections.append("\n".join([f"{group}:", *(_line(flag, text) for flag, text in flags), ""]))
    return "\n".join(sections)


def ending(program: str = "supervise start") -> str:
    """Examples and exit codes, as other commands have them at the end; --help has them before its many flags."""
    return _END.format(program=program)


def _line(flag: Flag, text: str) -> str:
    kind = "" if flag.kind == "bool" else f" {flag.kind.replace('_', '-')}"
    short = {"v": "-v, --v", "help": "-h, --help"}.get(flag.name, f"--{flag.name}")
    return f"  {short}{kind}\n        {text}"


def _text(flag: Flag, text: str, default: str) -> str:
    shown = default.strip('"')
    ending = f" (default {shown})" if shown not in {"", "[]", "{}", "unset", "false"} else ""
    if flag.deprecated and not flag.field:
        ending += " (deprecated)"
    return f"{text}{ending}"
