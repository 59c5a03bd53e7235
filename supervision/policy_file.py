"""A YAML file as plain values that know their lines. Safe: no tags that make objects, no aliases, no double keys."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

MAX_BYTES = 1024 * 1024
_PLAIN_MAPPING = "tag:yaml.org,2002:map"


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a file."""

    file: str
    line: int
    """From 1; 0 when it has none."""
    path: str
    """Of the field, `actors.pleg.restart`; '' for the whole file."""
    rule: str
    """What was found, and what would be right."""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (where, self.path, self.rule) if part)


class PolicyError(Exception):
    """The policy is not usable: everything that is wrong with it, at once."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class Scalar(msgspec.Struct, frozen=True):
    """A value that is not a mapping: a number, a text, a boolean, None, or a list (which no field takes)."""

    value: object
    line: int


class Mapping(msgspec.Struct, frozen=True):
    """Fields in file order."""

    fields: dict[str, Mapping | Scalar]
    line: int


def read(path: Path) -> tuple[Mapping, list[Problem]]:
    """The file's top level, and what is wrong in it. Raises PolicyError when there is nothing to go on with."""
    return read_text(text_of(path), str(path))


def text_of(path: Path) -> str:
    """What the file says. Raises PolicyError."""
    file = str(path)
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise PolicyError([Problem(file, 0, "", f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise PolicyError([Problem(file, 0, "", f"is not UTF-8: {error.reason} at byte {error.start}")]) from error
    if len(data) > MAX_BYTES:
        raise PolicyError([Problem(file, 0, "", f"has too many bytes, more than the {MAX_BYTES} allowed")])
    return text


def read_text(text: str, file: str) -> tuple[Mapping, list[Problem]]:
    """The same of what was read before; `file` is where, for the problems. Raises PolicyError."""
    try:
        return _parse(file, text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise PolicyError([Problem(file, line, "", f"is not YAML: {error.problem}")]) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise PolicyError([Problem(file, 0, "", f"is not YAML: {reason}")]) from error


def _parse(file: str, text: str) -> tuple[Mapping, list[Problem]]:
    loads = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for event in yaml.parse(text, Loader=loads):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 0
            raise PolicyError([Problem(file, line, "", f"*{event.anchor}: aliases are not allowed here")])
    loader = loads(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            line = node.start_mark.line + 1 if node else 0
            raise PolicyError([Problem(file, line, "", "must be a mapping with `version` and `actors`")])
        problems: list[Problem] = []
        return _mapping(loader, node, file, "", problems), problems
    finally:
        loader.dispose()


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode, file: str, path: str, problems: list[Problem]) -> Mapping:
    found: dict[str, Mapping | Scalar] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str) or key == "<<":
            problems.append(Problem(file, line, path, "a key must be a plain text"))
            continue
        below = f"{path}.{key}" if path else key
        if key in found:
            problems.append(Problem(file, line, below, "is given twice"))
            continue
        if isinstance(value_node, yaml.MappingNode):
            if value_node.tag != _PLAIN_MAPPING:
                problems.append(Problem(file, line, below, f"the tag {value_node.tag} is not allowed"))
            found[key] = _mapping(loader, value_node, file, below, problems)
        else:
            found[key] = Scalar(loader.construct_object(value_node, deep=True), line)
    return Mapping(found, node.start_mark.line + 1)
