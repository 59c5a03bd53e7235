"""Each error of a manifest names its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_config.manifests.field_lines import LIMITS, line_of, with_lines
from actors.pod_config.manifests.manifest import SOURCE_FILE, Origin, from_process, read_in_process, read_manifest
from actors.pod_config.validation.errors import FieldError, ManifestError

WRONG = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    example.com/tier: "not a label!"
spec:
  restartPolicy: Sometimes
  containers:
  - name: main
    image: nginx
    prots:
    - containerPort: 80
  - name: other
    resources:
      limits:
        memory: 1Gib
"""
ORIGIN = Origin(SOURCE_FILE, "/etc/pods/web.yaml", "node")


def lines_of(data: bytes) -> dict[str, int]:
    with pytest.raises(ManifestError) as caught:
        read_manifest(data, ORIGIN)
    return {error.path: error.line for error in caught.value.errors}


def test_each_error_has_the_line_of_its_field_and_a_missing_one_that_of_what_lacks_it() -> None:
    assert lines_of(WRONG.encode()) == {
        "metadata.labels[example.com/tier]": 6,
        "spec.restartPolicy": 8,
        "spec.containers[0].prots": 12,
        "spec.containers[1].image": 14,
        "spec.containers[1].resources.limits[memory]": 17,
    }


def test_json_has_lines_too() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "a"}]}}
    text = json.dumps(pod, indent=1)
    number = 1 + text.split("\n").index("   {")
    assert lines_of(text.encode()) == {"spec.containers[0].image": number}


def test_an_error_of_yaml_itself_keeps_its_line() -> None:
    assert lines_of(b"kind: Pod\nkind: Pod\n") == {"kind": 2}


def test_an_error_of_the_whole_document_has_no_line() -> None:
    assert lines_of(b"[]") == {"": 0}


def test_the_lines_come_from_the_process_that_reads_a_large_manifest() -> None:
    result = read_in_process(b"", WRONG.encode(), [SOURCE_FILE, b"/etc/pods/web.yaml", "node", False])
    with pytest.raises(ManifestError) as caught:
        from_process(result)
    assert "line 8: spec.restartPolicy: " in caught.value.texts()[-1]


def test_lines_of_a_large_document_are_not_looked_for() -> None:
    errors = [FieldError("kind", "required")]
    assert with_lines(errors, b"kind: x\n") == [FieldError("kind", "required", 1)]
    assert with_lines(errors, b"kind: x\n" + b"#" * LIMITS.size) == errors


@given(st.text(max_size=40), st.dictionaries(st.text(max_size=5), st.integers(1, 9), max_size=4))
def test_any_path_has_a_line_or_none(path: str, places: dict[str, int]) -> None:
    assert line_of(path, places) in {0, *places.values()}
