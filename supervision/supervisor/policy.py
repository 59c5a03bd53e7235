"""The supervision policy of each actor: its default in the tree, with the overrides of a policy file.

`load` reads the file and gives every actor of the tree its Policy, or raises PolicyError with every problem.
Precedence of each setting, highest first: the file's entry by name, its last matching pattern, the settings that the
actor declares (`ChildSpec.policy`); for a supervisor the file's section `supervisors` and `SUPERVISOR_SETTINGS`; the
file's section `defaults`, `Policy()`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec

from ..documents.model import below
from ..documents.suggestions import did_you_mean
from ..protocol import ROOT
from ..spec import SUPERVISOR_SETTINGS, ChildSpec, Policy, walk
from .policy_file import PolicyError, PolicyFile, PolicyProblem, read, read_text
from .policy_rules import SUPERVISORS_ONLY, policy_conflicts, shown, wrong_setting

VERSION = 1
SECTIONS = ("version", "defaults", "supervisors", "actors")


def load(path: Path, tree: ChildSpec, also_known: Collection[str] = ()) -> dict[str, Policy]:
    """The policy of every actor of the tree, by full name.

    `also_known`: names that exist under another configuration; the file may contain them. Raises PolicyError.
    """
    return _Join(str(path), read(path), tree, also_known).policies()


def load_text(text: str, file: str, tree: ChildSpec, also_known: Collection[str] = ()) -> dict[str, Policy]:
    """Like `load`, for the text of `file`. Raises PolicyError."""
    return _Join(file, read_text(text, file), tree, also_known).policies()


class _Join:
    """Joins one file to one tree and collects the problems."""

    def __init__(self, file: str, content: PolicyFile, tree: ChildSpec, also_known: Collection[str]) -> None:
        self._file, self._content = file, content
        self._problems: list[PolicyProblem] = []
        self._specs = {name: (parent, spec) for name, parent, spec in walk(tree)}
        self._known_names = {*self._specs, *also_known}

    def policies(self) -> dict[str, Policy]:
        """The policies by full name. Raises PolicyError."""
        self._check_version()
        for name in self._content.data:
            if name not in SECTIONS:
                self._wrong((name,), f"is not known{did_you_mean(name, SECTIONS)}")
        defaults = self._settings("defaults")
        supervisors = self._settings("supervisors")
        overrides = self._overrides()
        policies = {}
        for name, (_, spec) in self._specs.items():
            of_kind = {**SUPERVISOR_SETTINGS, **supervisors} if spec.is_supervisor else {}
            policies[name] = self._policy(name, {**defaults, **of_kind, **spec.policy}, overrides)
        self._check_together(policies)
        if self._problems:
            raise PolicyError(sorted(self._problems, key=lambda problem: problem.line))
        return policies

    def _wrong(self, keys: tuple[str, ...], rule: str) -> None:
        """Add a problem at the line of these keys, or of the nearest parent with a line."""
        line = 0
        for count in range(len(keys), 0, -1):
            line = line or self._content.lines.get(reduce(below, keys[:count], ""), 0)
        self._problems.append(PolicyProblem(self._file, line, ".".join(keys), rule))

    def _check_version(self) -> None:
        version = self._content.data.get("version")
        if version != VERSION or isinstance(version, bool):
            found = "it is missing" if version is None else f"not {shown(version)}"
            self._wrong(("version",), f"must be {VERSION}, {found}")

    def _settings(self, *keys: str) -> dict[str, Any]:
        """The valid settings of a mapping; each invalid one is a problem."""
        section: Any = self._content.data
        for key in keys:
            section = section.get(key)
        if not isinstance(section, dict):
            if section is not None:
                self._wrong(keys, f"must be a mapping of settings, not {shown(section)}")
            return {}
        found = {}
        for field, value in section.items():
            if wrong := wrong_setting(field, value):
                self._wrong((*keys, field), wrong)
            else:
                found[field] = value
        return found

    def _overrides(self) -> dict[str, dict[str, Any]]:
        """Settings by name or pattern."""
        section = self._content.data.get("actors")
        if not isinstance(section, dict):
            if section is not None:
                self._wrong(("actors",), f"must be a mapping of actors, not {shown(section)}")
            return {}
        found = {}
        for key in section:
            if not any(fnmatchcase(name, key) for name in self._known_names):
                self._wrong(("actors", key), f"matches no actor of the tree{did_you_mean(key, self._known_names)}")
            settings = self._settings("actors", key)
            misplaced = sorted(SUPERVISORS_ONLY & set(settings))
            matched = [self._specs[name][1] for name in self._specs if fnmatchcase(name, key)]
            if misplaced and matched and not any(spec.is_supervisor for spec in matched):
                self._wrong(("actors", key, misplaced[0]), "is for supervisors only")
            found[key] = settings
        return found

    def _policy(self, name: str, base: dict[str, Any], overrides: dict[str, dict[str, Any]]) -> Policy:
        for pattern, settings in overrides.items():
            if pattern != name and fnmatchcase(name, pattern):
                base |= settings
        return msgspec.structs.replace(Policy(), **base | overrides.get(name, {}))

    def _check_together(self, policies: dict[str, Policy]) -> None:
        """Rules over several fields, or several actors, as OTP checks them too."""
        for name, policy in policies.items():
            for field, wrong in self._wrong_together(name, policy, policies):
                self._wrong(("actors", name, field), wrong)

    def _wrong_together(self, name: str, policy: Policy, policies: dict[str, Policy]) -> Iterator[tuple[str, str]]:
        yield from policy_conflicts(name, policy)
        if not policy.significant:
            return
        parent = self._specs[name][0]
        if name == ROOT:
            yield "significant", "the root cannot be significant"
        elif policy.restart == "permanent":
            yield "significant", "an actor that is always restarted cannot be significant"
        elif policies[parent].auto_shutdown == "none":
            yield "significant", f"has no effect: auto_shutdown of {parent} is none"
