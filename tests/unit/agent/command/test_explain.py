"""`config explain` of every field, element and key: meaning, default, form, and what a change does."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest

from actors.agent.subcommands import _explain
from actors.config_controller.consumers import RESTART, UNREAD
from actors.shared.config.documentation import entries
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.explained_keys import KEYS
from actors.shared.config.feature_gates import GATES

FIELDS = {entry.path: entry for entry in entries()}
ELEMENTS = [path for path, entry in FIELDS.items() if entry.kind.startswith("list")]
MAPS = [path for path, entry in FIELDS.items() if entry.kind.startswith("map")]


def explain(*words: str) -> str:
    out = io.StringIO()
    assert _explain(words, "", out) == 0
    return out.getvalue()


def indices(path: str) -> Iterator[str]:
    """The ways to write it."""
    yield path
    yield path.replace("[]", "[0]")
    yield path.replace("[]", "[12]")
    yield path.replace("[]", "")


@pytest.mark.parametrize("path", FIELDS)
def test_each_field_has_a_meaning_a_default_and_what_a_change_does(path: str) -> None:
    entry, text = FIELDS[path], explain(path)
    head, meaning, *rest = text.splitlines()
    assert head == f"{path}: {entry.kind}"
    assert meaning.strip() == entry.text
    assert len(entry.text.split()) >= 2
    objects = entry.kind == "object"
    assert objects or any(line.startswith("  default: ") for line in rest), text
    (change,) = [line for line in rest if line.startswith("  change:  ")]
    top = re.split(r"[.\[]", path)[0]
    assert ("waits for a restart of the agent" in change) >= (top in RESTART)
    assert ("has no effect" in change.partition(";")[0]) == (top in UNREAD)
    assert [explain(written) for written in indices(path)] == [text] * 4


@pytest.mark.parametrize("path", ELEMENTS)
def test_an_element_of_a_list_is_explained(path: str) -> None:
    text = explain(f"{path}[0]")
    assert text.startswith(f"{path}[]: ")
    assert FIELDS[path].text in text
    assert "  change:  " in text


@pytest.mark.parametrize("path", MAPS)
def test_a_key_of_a_map_is_explained_and_its_known_keys_are_listed(path: str) -> None:
    for key in KEYS.get(path, ("example.com/some.key",)):
        text = explain(f"{path}.{key}")
        assert "  change:  " in text
        if path != "featureGates":
            assert text.startswith(f"{path}.{key}: ")
            assert "  default: " in text
            assert path not in KEYS or re.search(rf"keys: .*{re.escape(key)}", explain(path))


def test_a_key_has_its_own_default() -> None:
    assert 'default: "10%"' in explain("evictionHard.nodefs.available")
    assert "default: unset" in explain("evictionSoft.nodefs.available")


def test_a_gate_is_the_same_by_its_path() -> None:
    for gate in GATES:
        assert explain(gate) == explain(f"featureGates.{gate}")


def test_explain_shows_the_form_of_a_duration() -> None:
    assert explain("nodeStatusUpdateFrequency").startswith("nodeStatusUpdateFrequency: duration, such as 30s")


def test_each_text_stands_alone() -> None:
    assert [
        path for path, entry in FIELDS.items() if re.search(r"\b(two above|that check|see above)\b", entry.text)
    ] == []


def test_a_name_that_is_like_no_other_is_answered_with_the_command_that_lists_them() -> None:
    with pytest.raises(ConfigErrors, match=r"^auth: no such field, .* gate; `supervise config explain` lists"):
        _explain(["auth"], "", io.StringIO())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("evictionHart", "evictionHard"),
        ("clientCAFile", "authentication.x509.clientCAFile"),
        ("x509.clientcafile", "authentication.x509.clientCAFile"),
        ("evictionHard.memory.availble", "evictionHard.memory.available"),
        ("systemReserved.gpu", "systemReserved.cpu"),
        ("featureGates.InPlacePodVertical", "featureGates.InPlacePodVerticalScaling"),
        ("--max-podz", "--max-pods"),
        ("MemoryQos", "MemoryQoS"),
    ],
)
def test_an_unknown_name_is_answered_with_the_closest_one(wrong: str, right: str) -> None:
    with pytest.raises(ConfigErrors, match=f"no such field, flag or feature gate, did you mean {re.escape(right)}[ ?]"):
        _explain([wrong], "", io.StringIO())
