"""`supervise manifest check FILE...`: checks pod manifests by the rules of the static pod path, without an agent."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final

import msgspec

from actors.pod_config.manifests.manifest import SOURCE_FILE, Origin, read_manifest
from actors.pod_config.pods.merged_pods import PodCandidate, choose
from actors.pod_config.sources.file_source import manifest_paths, never_read
from actors.pod_config.validation.errors import FieldError, ManifestError, document_error
from actors.pod_config.validation.limits import MAX_BYTES
from supervision.cli.command import NOT_WELL, OK
from supervision.cli.document import FORMS, document_text, form_of
from supervision.cli.parser import LOCAL_CODES, CommandHelp, epilog
from supervision.cli.text import plain, terminal_columns, wrapped

STDIN: Final = "-"
_NODE: Final = "node"
"""Used as the node's name; no rule depends on it."""
_EPILOG: Final = """\
FILE may be a directory, which is read as staticPodPath is (hidden files and
those of editors are left out), or - for stdin. Directories below it are not
read.

"""
_EXAMPLES: Final = ("supervise manifest check etc/pods", "supervise manifest check web.yaml -o json")
_CODES: Final = {
    **LOCAL_CODES,
    OK: "all manifests are accepted",
    NOT_WELL: "at least one is refused: each error has its file, line and field",
}


class ManifestProblem(msgspec.Struct, frozen=True):
    """An error of a manifest."""

    file: str
    field: str
    """As `spec.containers[0].image`; empty: the file as a whole."""
    error: str
    line: int = 0
    """Where the field stands in the file; 0 if it is not known."""

    def __str__(self) -> str:
        return f"{self.file}: {FieldError(self.field, self.error, self.line)}"


class CheckedManifests(msgspec.Struct, frozen=True):
    """The result of all files."""

    files: list[str]
    errors: list[ManifestProblem]


def register(subcommands: Any) -> None:
    """Add `manifest check`."""
    below = subcommands.add_parser(
        "manifest",
        help="pod manifests: check them without an agent",
        description="Pod manifests: check them without an agent.",
        epilog=epilog(_EXAMPLES, _CODES),
        formatter_class=CommandHelp,
    ).add_subparsers(required=True, metavar="COMMAND")
    text = "check pod manifests by the rules of the static pod path, without an agent"
    parser: argparse.ArgumentParser = below.add_parser(
        "check",
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=_EPILOG + epilog(_EXAMPLES, _CODES),
        formatter_class=CommandHelp,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file, a directory, or - for stdin")
    parser.add_argument(
        "--allow-api-references",
        action="store_true",
        help="as with PreventStaticPodAPIReferences=false: secrets and the like may be named",
    )
    parser.add_argument("-o", "--output", choices=("text", *FORMS), default="text", help="(default: %(default)s)")
    parser.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """0: all are accepted, 1: at least one is refused."""
    found = check_manifests(arguments.files, sys.stdin.buffer, allow_references=arguments.allow_api_references)
    if form := form_of(arguments.output):
        text = document_text(found, form)
    else:
        columns = terminal_columns(sys.stderr)
        lines = (line for error in found.errors for line in wrapped(plain(str(error)), columns, "    ", ""))
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        text = _summary(found)
    sys.stdout.write(f"{text}\n")
    return 1 if found.errors else 0


def check_manifests(names: Sequence[str], stdin: BinaryIO, *, allow_references: bool = False) -> CheckedManifests:
    """Read and check every file; two pods of one name are an error, as they are on one node."""
    errors: list[ManifestProblem] = []
    paths = list(dict.fromkeys(_paths(names, errors)))
    pods: list[PodCandidate] = []
    for path in paths:
        try:
            data = stdin.read(MAX_BYTES + 1) if path == STDIN else _content(path)
            origin = Origin(SOURCE_FILE, path, _NODE, allow_references)
            pods += [PodCandidate(pod.uid, pod.full_name, path, pod.data) for pod in read_manifest(data, origin)]
        except OSError as error:
            errors.append(ManifestProblem(path, "", str(error.strerror)))
        except ManifestError as error:
            errors += [ManifestProblem(path, one.path, one.text, one.line) for one in error.errors]
    for duplicate in choose({SOURCE_FILE: pods}, {}).duplicates:
        errors.append(ManifestProblem(duplicate.pod.place, "metadata.name", duplicate.problem))
    return CheckedManifests(paths, errors)


def _paths(names: Iterable[str], errors: list[ManifestProblem]) -> Iterator[str]:
    for name in names:
        if name == STDIN:
            yield STDIN
            continue
        try:
            os.stat(name)
            yield from manifest_paths(name)
        except OSError as error:
            errors.append(ManifestProblem(name, "", str(error.strerror)))


def _content(path: str) -> bytes:
    """Raises OSError, ManifestProblem."""
    # a FIFO must not block
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        if wrong := never_read(os.fstat(descriptor)):
            raise document_error(wrong)
        return file.read(MAX_BYTES + 1)


def _summary(found: CheckedManifests) -> str:
    bad = {one.file for one in found.errors}
    good = sum(path not in bad for path in found.files)
    if not found.files and not bad:
        return "no manifests there"
    return f"{good} accepted, {len(bad)} refused"
