"""The documentation of fields, flags and feature gates, taken from the source code.

Only the command line uses it: it reads the source of the configuration types.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_origin

import msgspec

from supervision.documents.strict import fields_of
from supervision.documents.suggestions import close_to, did_you_mean, hint_of

from .explained_keys import KEYS, find, names
from .explanation import ConfigExplanation, shown_default
from .feature_gates import GATES
from .fields import groups, kubelet_configuration
from .fields.duration import Duration
from .fields.kubelet_configuration import KubeletConfiguration
from .flags.flag_table import FLAG_OF_FIELD, FLAGS, REMOVED, Flag
from .validation.rules import rules_of

_DURATION: Final = "duration, such as 30s or 1h30m"


class FieldEntry(NamedTuple):
    """The documentation of one field."""

    path: str
    kind: str
    default: Any
    """As plain data; None: unset; UNSET: it is an object, whose fields have the defaults."""
    text: str


@lru_cache
def texts() -> dict[tuple[str, str], str]:
    """(type name, field name) to the docstring of the field."""
    found = {}
    for module in (groups, kubelet_configuration):
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found.update({(node.name, name): text for name, text in _attributes(node)})
    return found


def _attributes(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, after in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            yield field.target.id, " ".join(str(ast.literal_eval(after.value)).split())


def entries() -> list[FieldEntry]:
    """Every field, objects before their fields."""
    return list(_walk(KubeletConfiguration, KubeletConfiguration(), ""))


def _walk(kind: type[msgspec.Struct], value: Any, prefix: str) -> Iterator[FieldEntry]:
    for name, hint in fields_of(kind)[0].items():
        path, default = f"{prefix}{name}", getattr(value, name)
        inner = _struct_in(hint)
        is_object = inner is not None and not isinstance(default, list) and default is not None
        plain = msgspec.UNSET if is_object else msgspec.to_builtins(default, enc_hook=str)
        yield FieldEntry(path, _kind(hint), plain, texts()[kind.__name__, name])
        if inner is not None:
            yield from _walk(inner, inner(), f"{path}[]." if get_origin(hint) is list else f"{path}.")


def _struct_in(hint: Any) -> type[msgspec.Struct] | None:
    for option in (hint, *get_args(hint)):
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return option
    return None


def _kind(hint: Any) -> str:
    origin, inside = get_origin(hint), get_args(hint)
    if origin is list:
        return f"list of {_kind(inside[0])}"
    if origin is dict:
        return f"map to {_kind(inside[1])}"
    if origin is types.UnionType:
        return " or ".join(_kind(option) for option in inside if option is not type(None))
    names: dict[Any, str] = {bool: "true or false", int: "integer", float: "number", str: "text", Duration: _DURATION}
    return names.get(hint, "object")


def explain(name: str, effect: Callable[[str], str] = lambda field: "") -> ConfigExplanation | None:
    """The documentation of a field path, `--flag` or feature gate; None if there is no such name.

    `effect`: what a change of a top-level field does to a running agent, '' if that is not known.
    """
    if name.startswith("-"):
        return _flag(name.lstrip("-").replace("_", "-"), effect)
    if name in GATES:
        gate = GATES[name]
        return ConfigExplanation(
            kind="feature gate",
            name=name,
            stage=gate.stage,
            locked=gate.locked,
            default=gate.default,
            change=effect("featureGates"),
        )
    found = {entry.path: entry for entry in entries()}
    named = find(name, {path: entry.kind for path, entry in found.items()})
    if named is None:
        return None
    if named.path == "featureGates" and named.inside:
        return explain(named.inside, effect)
    entry = found[named.path]
    return _inside(entry, named.inside, effect) if named.inside else _field(entry, found, effect)


def similar(name: str) -> str:
    """`, did you mean X?` for a name that `explain` does not know, or ''."""
    if name.startswith("-"):
        return did_you_mean(name.lstrip("-"), [*FLAGS, *REMOVED], before="--", most=3)
    known = names({entry.path: entry.kind for entry in entries()})
    near = close_to(name, [*known, *GATES], most=3)
    return hint_of(dict.fromkeys(known.get(one, one) for one in near))


def _field(entry: FieldEntry, found: dict[str, FieldEntry], effect: Callable[[str], str]) -> ConfigExplanation:
    return ConfigExplanation(
        kind="field",
        name=entry.path,
        type=entry.kind,
        text=entry.text,
        default=entry.default,
        flag=f"--{FLAG_OF_FIELD[entry.path].name}" if entry.path in FLAG_OF_FIELD else "",
        rules=tuple(rules_of(entry.path.replace("[]", ""))),
        change=effect(_top(entry.path)),
        keys=KEYS.get(entry.path, ()) if entry.path != "featureGates" else (),
        fields=tuple(path for path in found if path.startswith((f"{entry.path}.", f"{entry.path}[]."))),
    )


def _inside(entry: FieldEntry, inside: str, effect: Callable[[str], str]) -> ConfigExplanation:
    """An element of a list, or the value of a key."""
    what = "one of the list" if inside == "[]" else f"key {inside} of the map"
    return ConfigExplanation(
        kind="field",
        name=entry.path + (inside if inside == "[]" else f".{inside}"),
        type=entry.kind.partition("list of " if inside == "[]" else "map to ")[2],
        text=f"{entry.path}, {what}: {entry.text}",
        default=msgspec.UNSET if inside == "[]" else _default_of(entry.path).get(inside),
        rules=tuple(rules_of(entry.path.replace("[]", ""))),
        change=effect(_top(entry.path)),
    )


def _default_of(path: str) -> dict[str, Any]:
    """The default of a map; empty for one in a list, which is empty itself."""
    value: Any = KubeletConfiguration()
    for name in path.split("."):
        value = getattr(value, name, None)
    return value if isinstance(value, dict) else {}


def _top(path: str) -> str:
    return path.split(".", maxsplit=1)[0].removesuffix("[]")


def _flag(name: str, effect: Callable[[str], str]) -> ConfigExplanation | None:
    if name in REMOVED:
        return ConfigExplanation(kind="flag", name=f"--{name}", removed=REMOVED[name].text)
    flag = FLAGS.get(name)
    if flag is None:
        return None
    if flag.field:
        return ConfigExplanation(
            kind="flag", name=f"--{name}", deprecated=flag.deprecated, sets=explain(flag.field, effect)
        )
    return ConfigExplanation(
        kind="flag",
        name=f"--{name}",
        type=flag.kind,
        text=flag.text or f"no effect: there is no {flag.missing}",
        default=flag.default or msgspec.UNSET,
        deprecated=flag.deprecated,
        change="flags are read at the start of the agent only" if effect("featureGates") else "",
    )


def flag_text(flag: Flag) -> tuple[str, str]:
    """(text, default) of a flag, taken from its field if it sets one."""
    if not flag.field:
        return flag.text or f"No effect: there is no {flag.missing}.", flag.default
    entry = next(entry for entry in entries() if entry.path == flag.field)
    return entry.text, shown_default(entry.default)
