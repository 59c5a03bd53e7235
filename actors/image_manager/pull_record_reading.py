"""Reads the files of pull records: records, intents and invalid files. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from .pull_record_files import PULLED, PULLING
from .pull_records import ImagePulledRecord, file_name, read_intent, read_record


class ReadRecords(msgspec.Struct, frozen=True):
    """The content of the files."""

    records: dict[str, ImagePulledRecord]
    """By the ref of the image."""
    leftover: set[str]
    """Images of intents."""
    unreadable: set[str]
    """Files below the root directory whose content is no record and no intent: their images were pulled."""


def interpret(files: Mapping[str, Mapping[str, bytes]]) -> ReadRecords:
    """`files`: contents by directory and name; b'' for one that cannot be read."""
    records = {f"{PULLED}/{name}": read_record(data) for name, data in files.get(PULLED, {}).items()}
    intents = {f"{PULLING}/{name}": read_intent(data) for name, data in files.get(PULLING, {}).items()}
    return ReadRecords(
        {record.imageRef: record for record in records.values() if record is not None},
        {intent.image for intent in intents.values() if intent is not None},
        {path for path, content in {**records, **intents}.items() if content is None},
    )


def spellings(image: str) -> tuple[str, ...]:
    """The names under which the intent of a pull may be written: the kubelet's is the pod's own, without `:latest`."""
    return tuple({image: None, image.removesuffix(":latest"): None})


def record_path(image_ref: str) -> str:
    """The file of an image's record, below the root directory."""
    return f"{PULLED}/{file_name(image_ref)}"


def intent_paths(image: str) -> list[str]:
    """The files in which the intent of a pull may be."""
    return [f"{PULLING}/{file_name(name)}" for name in spellings(image)]
