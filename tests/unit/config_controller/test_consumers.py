"""The configuration fields that actors declare, compared with those that their code reads."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import actors
from actors.config_controller.consumers import ENGINE, RESTART, UNREAD
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.tree import RELATIONS
from tests.support.source_files import parsed

FIELDS = set(KubeletConfiguration.__struct_fields__)
BELOW = {"config_controller"}
SOURCES = Path(actors.__file__).parent


def fields_in(package: str) -> dict[str, set[str]]:
    """Fields that are read as an attribute of a `config`, to the modules that do."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (SOURCES / package).rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and node.attr in FIELDS and ast.unparse(node.value).endswith("config"):
                found[node.attr].add(path.name)
    return found


PACKAGES = sorted({path.parent.name for path in SOURCES.glob("*/actor.py")} - BELOW)


@pytest.mark.parametrize("package", [*PACKAGES, "api_clients", "http_servers"])
def test_an_actor_declares_every_field_that_it_reads(package):
    known = {field for name, fields in RELATIONS.consumers.items() if name.split("/")[0] == package for field in fields}
    missing = {field: files for field, files in fields_in(package).items() if field not in known | RESTART | ENGINE}
    assert missing == {}


def test_no_actor_reads_a_field_that_is_listed_as_unread():
    read = {field for package in (*PACKAGES, "api_clients", "http_servers") for field in fields_in(package)}
    assert read & UNREAD == set()
