"""The supervision policy: which restart type, budgets, intensity and ceilings each actor has. Data, joined to a tree.

`load` reads the file and gives every actor of the tree its Policy, or raises PolicyError with all that is wrong. What
is said of an actor by name goes before what a pattern says, a later pattern before an earlier one, a pattern before
the section `supervisors`, that before `defaults`, and all before the defaults of `spec.Policy`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

import msgspec

from .policy_file import Mapping, PolicyError, Problem, Scalar, read, read_text
from .protocol import ROOT
from .spec import ChildSpec, Policy, Restart, Significance, Strategy, walk

VERSION = 1
SECTIONS = ("version", "defaults", "supervisors", "actors")
SUPERVISORS_ONLY = frozenset({"strategy", "total_restarts", "total_period_seconds", "auto_shutdown"})
Rule = Callable[[Any], str]
"""What is wrong with a value, '' when nothing is."""


def _number(least: float, most: float, *, or_zero: bool = False, whole: bool = False) -> Rule:
    text = f"{'a whole number' if whole else 'a number'} from {least:.10g} to {most:.10g}" + (
        ", or 0" if or_zero else ""
    )

    def rule(value: Any) -> str:
        right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if right and (least <= value <= most or (or_zero and value == 0)):
            return ""
        return f"must be {text}, not {_shown(value)}"

    return rule


def _one_of(choices: tuple[str, ...]) -> Rule:
    return lambda value: "" if value in choices else f"must be one of {', '.join(choices)}, not {_shown(value)}"


def _boolean(value: Any) -> str:
    return "" if isinstance(value, bool) else f"must be true or false, not {_shown(value)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


RULES: dict[str, Rule] = {
    "restart": _one_of(get_args(Restart)),
    "shutdown_seconds": _number(0, 3600),
    "start_seconds": _number(0.1, 3600),
    "heartbeat_seconds": _number(0.5, 3600, or_zero=True),
    "memory_mib": _number(16, 1024 * 1024, or_zero=True, whole=True),
    "significant": _boolean,
    "max_restarts": _number(0, 1000, whole=True),
    "period_seconds": _number(0.1, 86400),
    "backoff_seconds": _number(0, 3600),
    "backoff_max_seconds": _number(0, 3600),
    "backoff_reset_seconds": _number(0.1, 86400),
    "strategy": _one_of(get_args(Strategy)),
    "total_restarts": _number(0, 10000, whole=True),
    "total_period_seconds": _number(0.1, 86400),
    "auto_shutdown": _one_of(get_args(Significance)),
}


def load(path: Path, tree: ChildSpec, also_known: Collection[str] = ()) -> dict[str, Policy]:
    """The policy of every actor of the tree, by full name.

    `also_known`: names that are in the tree under another configuration, and may be in the file. Raises PolicyError.
    """
    content, problems = read(path)
    return _Join(str(path), tree, also_known, problems).of(content)


def load_text(text: str, file: str, tree: ChildSpec, also_known: Collection[str] = ()) -> dict[str, Policy]:
    """The same of a text that was read from `file`. Raises PolicyError."""
    content, problems = read_text(text, file)
    return _Join(file, tree, also_known, problems).of(content)


class _Join:
    """One file being joined to one tree; problems are gathered as they are found."""

    def __init__(self, file: str, tree: ChildSpec, also_known: Collection[str], problems: list[Problem]) -> None:
        self._file, self._problems = file, problems
        self._specs = {name: (parent, spec) for name, parent, spec in walk(tree)}
        self._known = {*self._specs, *also_known}

    def of(self, content: Mapping) -> dict[str, Policy]:
        self._check_version(content)
        for name, value in content.fields.items():
            if name not in SECTIONS:
                self._wrong(value.line, name, _unknown(name, SECTIONS))
        defaults = self._settings(content, "defaults")
        supervisors = self._settings(content, "supervisors")
        overrides = self._overrides(content)
        policies = {
            name: self._policy(name, {**defaults, **(supervisors if spec.is_supervisor else {})}, overrides)
            for name, (_, spec) in self._specs.items()
        }
        self._check_together(policies, overrides)
        if self._problems:
            raise PolicyError(sorted(self._problems, key=lambda problem: problem.line))
        return policies

    def _wrong(self, line: int, path: str, rule: str) -> None:
        self._problems.append(Problem(self._file, line, path, rule))

    def _check_version(self, content: Mapping) -> None:
        version = content.fields.get("version")
        if not isinstance(version, Scalar) or version.value != VERSION:
            found = "it is missing" if version is None else f"not {_shown(getattr(version, 'value', '{...}'))}"
            self._wrong(version.line if version else 0, "version", f"must be {VERSION}, {found}")

    def _settings(self, section: Mapping, name: str, path: str = "") -> dict[str, Any]:
        """The valid settings of a mapping in a section; what is not valid is a problem."""
        value = section.fields.get(name)
        below = f"{path}.{name}" if path else name
        if value is None:
            return {}
        if isinstance(value, Scalar):
            if value.value is not None:
                self._wrong(value.line, below, f"must be a mapping of settings, not {_shown(value.value)}")
            return {}
        found = {}
        for field, setting in value.fields.items():
            wrong = self._check_setting(field, setting)
            if wrong:
                self._wrong(setting.line, f"{below}.{field}", wrong)
            elif isinstance(setting, Scalar):
                found[field] = setting.value
        return found

    def _check_setting(self, field: str, setting: Mapping | Scalar) -> str:
        if field not in RULES:
            return _unknown(field, RULES)
        if isinstance(setting, Mapping):
            return "must be a value, not a mapping"
        return RULES[field](setting.value)

    def _overrides(self, content: Mapping) -> dict[str, tuple[int, dict[str, Any]]]:
        """By name or pattern: line, settings."""
        section = content.fields.get("actors")
        if section is None or (isinstance(section, Scalar) and section.value is None):
            return {}
        if isinstance(section, Scalar):
            self._wrong(section.line, "actors", f"must be a mapping of actors, not {_shown(section.value)}")
            return {}
        found = {}
        for key, value in section.fields.items():
            if not any(fnmatchcase(name, key) for name in self._known):
                self._wrong(value.line, f"actors.{key}", _unknown(key, self._known, "matches no actor of the tree"))
            settings = self._settings(section, key, "actors")
            misplaced = sorted(SUPERVISORS_ONLY & set(settings))
            matched = [self._specs[name][1] for name in self._specs if fnmatchcase(name, key)]
            if misplaced and matched and not any(spec.is_supervisor for spec in matched):
                self._wrong(value.line, f"actors.{key}.{misplaced[0]}", "is for supervisors only")
            found[key] = (value.line, settings)
        return found

    def _policy(self, name: str, base: dict[str, Any], overrides: dict[str, tuple[int, dict[str, Any]]]) -> Policy:
        for pattern, (_, settings) in overrides.items():
            if pattern != name and fnmatchcase(name, pattern):
                base |= settings
        return msgspec.structs.replace(Policy(), **base | overrides.get(name, (0, {}))[1])

    def _check_together(self, policies: dict[str, Policy], overrides: dict[str, tuple[int, dict[str, Any]]]) -> None:
        """Rules over several fields, or several actors, as OTP checks them too."""
        for name, policy in policies.items():
            for field, wrong in self._wrong_together(name, policy, policies):
                self._wrong(overrides.get(name, (0, {}))[0], f"actors.{name}.{field}", wrong)

    def _wrong_together(self, name: str, policy: Policy, policies: dict[str, Policy]) -> Iterator[tuple[str, str]]:
        most, first = policy.backoff_max_seconds, policy.backoff_seconds
        if most < first:
            yield "backoff_max_seconds", f"is {most:g}, less than backoff_seconds, {first:g}"
        if name == ROOT and policy.restart != "permanent":
            yield "restart", "the root must be permanent"
        if not policy.significant:
            return
        parent = self._specs[name][0]
        if name == ROOT:
            yield "significant", "the root cannot be significant"
        elif policy.restart == "permanent":
            yield "significant", "an actor that is always restarted cannot be significant"
        elif policies[parent].auto_shutdown == "none":
            yield "significant", f"has no effect: auto_shutdown of {parent} is none"


def _unknown(name: str, known: Collection[str], what: str = "is not known") -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"{what}; did you mean {close[0]}?" if close else what
