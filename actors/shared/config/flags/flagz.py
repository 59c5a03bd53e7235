"""Every flag with its effective value in command-line form, for /flagz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from actors.shared.config.agent import Agent
from actors.shared.config.errors import MASKED
from actors.shared.config.fields.groups import MemoryReservation, Taint, VModule
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.url_passwords import without_passwords

from .flag_table import FLAGS, Flag

CERT_DIR: Final = "cert-dir"
_SEPARATORS: Final = {"less_map": "<", "headers": ":"}


def flags_in_force(agent: Agent, config: KubeletConfiguration) -> dict[str, str]:
    """The flags in force, sorted by name without dashes. Secrets are masked. A field of the configuration takes
    precedence over the flag's default."""
    return {name: _flag_text(flag, _value(flag, agent, config)) for name, flag in sorted(FLAGS.items())}


def _value(flag: Flag, agent: Agent, config: KubeletConfiguration) -> Any:
    if flag.name == CERT_DIR:
        return agent.cert_dir  # its default is below --root-dir
    if not flag.field:
        return agent.flags.get(flag.name, flag.default)
    found: Any = config
    for part in flag.field.split("."):
        found = getattr(found, part)
    return found


def _flag_text(flag: Flag, value: Any) -> str:
    if flag.secret or flag.kind == "headers":
        return MASKED if value else ""
    return _value_text(value, _SEPARATORS.get(flag.kind, "="))


def _value_text(value: Any, separator: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ",".join(f"{key}{separator}{_value_text(item, separator)}" for key, item in sorted(value.items()))
    if isinstance(value, VModule):
        return f"{value.filePattern}={value.verbosity}"
    if isinstance(value, Taint):
        return f"{value.key}={value.value}:{value.effect}" if value.value else f"{value.key}:{value.effect}"
    if isinstance(value, MemoryReservation):
        return f"{value.numaNode}:{_value_text(value.limits, '=')}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        between = ";" if value and isinstance(value[0], MemoryReservation) else ","
        return between.join(_value_text(item, separator) for item in value)
    return without_passwords(str(value))
