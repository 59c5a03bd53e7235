"""Parsers of flag values, one per kind, like pflag's and the kubelet's own flag types.

Each takes the text of one occurrence and the value of earlier occurrences (None at first) and returns plain data, as in
a configuration file. All raise ValueError with the rule.
"""

from __future__ import annotations

import csv
import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final

from actors.shared.config.fields.booleans import FALSE, TRUE
from actors.shared.config.fields.duration import Duration
from actors.shared.kube import quantity

from .flag_table import Kind

_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F_]+)|0[bB]([01_]+)|0[oO]?([0-7_]+)|([0-9][0-9_]*))\Z", re.ASCII)
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def read_bool(text: str, before: Any = None) -> bool:
    """strconv.ParseBool."""
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    raise ValueError("must be true or false")


def integer(text: str) -> int:
    """strconv.ParseInt with base 0: decimal, 0x, 0o, 0b, a leading 0 for octal, _ between digits."""
    match = _INTEGER.match(text) if len(text) <= 80 else None
    digits = next((part for part in match.groups()[1:] if part), "") if match else ""
    if match is None or digits.startswith("_") or digits.endswith("_") or "__" in digits:
        raise ValueError("must be a whole number")
    base = next(base for base, part in zip((16, 2, 8, 10), match.groups()[1:], strict=True) if part)
    number = int(digits.replace("_", ""), base)
    return -number if match.group(1) == "-" else number


def _bounded_integer(low: int, high: int) -> Callable[[str, Any], int]:
    def read(text: str, before: Any) -> int:
        number = integer(text)
        if not low <= number <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return number

    return read


def read_duration(text: str, before: Any = None) -> str:
    return str(Duration.parse(text))


def read_ip(text: str, before: Any = None) -> str:
    text = text.strip()
    if text:
        try:
            ipaddress.ip_address(text)
        except ValueError:
            raise ValueError("must be an IP address") from None
    return text


def read_quantity(text: str, before: Any = None) -> str:
    quantity.parse(text)
    return text


def read_list(text: str, before: list[str] | None = None) -> list[str]:
    """Comma-separated with the quoting of CSV; repeated flags append."""
    if not text:
        return before or []
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error as error:
        raise ValueError(f"must be a comma-separated list ({error})") from None
    return (before or []) + rows[0]


def _pairs(text: str, separator: str) -> list[tuple[str, str]]:
    found = []
    for pair in text.split(","):
        if not pair.strip():
            continue
        key, mark, value = pair.partition(separator)
        if not mark or not key.strip():
            raise ValueError(f"must be pairs key{separator}value joined by commas, not {pair.strip()[:40]!r}")
        found.append((key.strip(), value.strip()))
    return found


def read_map(text: str, before: dict[str, str] | None = None) -> dict[str, str]:
    return {**(before or {}), **dict(_pairs(text, "="))}


def read_labels(text: str, before: dict[str, str] | None = None) -> dict[str, str]:
    """`key=value` or `key`, comma-separated; without `=` the value is empty."""
    pairs = [pair if "=" in pair else f"{pair}=" for pair in text.split(",") if pair.strip()]
    return read_map(",".join(pairs), before)


def read_less_map(text: str, before: dict[str, str] | None = None) -> dict[str, str]:
    return {**(before or {}), **dict(_pairs(text, "<"))}


def read_gates(text: str, before: dict[str, bool] | None = None) -> dict[str, bool]:
    return {**(before or {}), **{name: read_bool(value) for name, value in _pairs(text, "=")}}


def read_headers(text: str, before: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """`name:value`, comma-separated; a repeated name adds a value."""
    found = {name: list(values) for name, values in (before or {}).items()}
    for name, value in _pairs(text, ":"):
        found.setdefault(name, []).append(value)
    return found


def read_taints(text: str, before: list[dict[str, str]] | None = None) -> list[dict[str, str]]:
    """`key=value:effect` or `key:effect`, comma-separated. Of repeated flags the last counts, an empty one too."""
    found = list[dict[str, str]]()
    for spec in filter(None, (part.strip() for part in text.split(","))):
        head, mark, effect = spec.rpartition(":")
        key, _, value = head.partition("=")
        if not mark or effect not in _TAINT_EFFECTS or not key:
            raise ValueError(
                f"must be key=value:effect with an effect of {', '.join(_TAINT_EFFECTS)}, not {spec[:40]!r}"
            )
        found.append({"key": key, "value": value, "effect": effect})
    return found


def read_reserved_memory(text: str, before: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """`node:type=quantity,...`, one NUMA node per occurrence or per part; parts are separated by semicolons."""
    found = list(before or [])
    for part in filter(None, (part.strip() for part in text.split(";"))):
        node, mark, limits = part.partition(":")
        if not mark:
            raise ValueError("must be node:type=quantity, such as 0:memory=1Gi,hugepages-1Gi=2Gi")
        found.append({"numaNode": integer(node), "limits": dict(_pairs(limits, "="))})
    return found


def read_vmodule(text: str, before: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """`pattern=level`, comma-separated."""
    found = []
    for pattern, level in _pairs(text, "="):
        number = integer(level)
        if not 0 <= number < 1 << 31:
            raise ValueError("verbosity must be a whole number from 0 to 2147483647")
        found.append({"filePattern": pattern, "verbosity": number})
    return (before or []) + found


def read_version(text: str, before: Any = None) -> str:
    """true, false or raw."""
    if text == "raw":
        return text
    return "true" if read_bool(text) else "false"


PARSERS: Final[dict[Kind, Callable[[str, Any], Any]]] = {
    "bool": read_bool,
    "int32": _bounded_integer(-(1 << 31), (1 << 31) - 1),
    "int64": _bounded_integer(-(1 << 63), (1 << 63) - 1),
    "uint32": _bounded_integer(0, (1 << 32) - 1),
    "string": lambda text, before: text,
    "duration": read_duration,
    "ip": read_ip,
    "quantity": read_quantity,
    "list": read_list,
    "map": read_map,
    "labels": read_labels,
    "less_map": read_less_map,
    "gates": read_gates,
    "headers": read_headers,
    "taints": read_taints,
    "reserved_memory": read_reserved_memory,
    "vmodule": read_vmodule,
    "version": read_version,
}
