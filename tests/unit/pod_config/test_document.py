"""Documents are read within their limits, whatever is in them."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.pod_config.document import MAX_BYTES, MAX_DEPTH, plain_scalar, read_document
from actors.pod_config.errors import MAX_ERRORS, MAX_TEXT, FieldError, ManifestError


def assert_reasons(error: ManifestError) -> None:
    assert all(error.texts())
    assert error.errors


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
objects = st.dictionaries(st.text(min_size=1, max_size=8).filter(lambda key: key != "<<"), plain, min_size=1)


@given(objects)
def test_json_comes_back_as_it_was(value):
    assert read_document(json.dumps(value).encode()) == value


words = st.text(max_size=20).filter(lambda text: isinstance(plain_scalar(text), str))
"""PyYAML leaves 1e3 unquoted, which it reads as text itself."""


@given(st.dictionaries(words, words | st.lists(words | st.integers() | st.booleans() | st.none()), min_size=1))
@settings(max_examples=100)
def test_yaml_written_by_another_library_comes_back_as_it_was(value):
    assert read_document(yaml.safe_dump(value, allow_unicode=False).encode()) == value


@given(st.binary(max_size=300) | st.text(alphabet="{}[]:,-&*!|>'\"# \nab1.", max_size=80).map(str.encode))
def test_any_bytes_give_data_or_a_manifest_error(data):
    try:
        read_document(data)
    except ManifestError as error:
        assert_reasons(error)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("Off", False), ("null", None), ("", None), ("0644", 0o644), ("0o17", 15), ("0x1F", 31),
        ("1_000", 1000), ("-7", -7), ("1.5", 1.5), ("1e3", 1000.0), ("12:30", "12:30"), ("2026-01-01", "2026-01-01"),
        ("1.2.3", "1.2.3"), ("100m", "100m"), ("08", 8.0),
    ],
)  # fmt: skip
def test_plain_scalars_mean_what_the_api_machinery_reads(text, value):
    found = plain_scalar(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "empty"),
        ("# nothing\n", "empty"),
        ("a: 1\na: 2\n", "line 2: key 'a' is given twice"),
        ('{"a": 1, "a": 2}', "key 'a' is given twice"),
        ("a: 1\n---\nb: 2\n", "line 2: more than one document"),
        ("a: !!python/object/apply:os.system [id]\n", "line 1: tag"),
        ("a: !!binary aGk=\n", "is not allowed"),
        ("a: [1\n", "not YAML: line 2"),
        ('{"a": NaN}', "NaN"),
        ("? [a]\n: b\n", "a key must be a plain string"),
        ("a: *b\n", "alias *b"),
        ("a: &x [*x]\n", "alias *x"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, wrong):
    with pytest.raises(ManifestError) as caught:
        read_document(text.encode())
    assert wrong in str(caught.value)


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a: "])
def test_nesting_is_bounded(opening):
    with pytest.raises(ManifestError):
        read_document((opening * 100_000).encode())
    deep = "x: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert read_document(deep.encode())
    with pytest.raises(ManifestError, match="nested deeper"):
        read_document(("x: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH).encode())


def test_aliases_that_multiply_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ManifestError, match="aliases that multiply"):
        read_document("\n".join(lines).encode())


def test_aliases_and_merge_keys_are_read():
    text = "base: &b {a: 1, b: 2}\nnew: {<<: *b, b: 3}\nlist: {<<: [{c: 1}, {c: 2}]}\n"
    assert read_document(text.encode()) == {
        "base": {"a": 1, "b": 2}, "new": {"a": 1, "b": 3}, "list": {"c": 1},
    }  # fmt: skip


def test_a_key_like_that_of_a_merge_is_a_key_when_it_is_not_written_plainly():
    text = '"<<": {a: 1}\n"\\0<<": {b: 2}\n<<: {c: 3}\n'
    assert read_document(text.encode()) == {"<<": {"a": 1}, "\0<<": {"b": 2}, "c": 3}
    with pytest.raises(ManifestError, match="given twice"):
        read_document(b"<<: {a: 1}\n<<: {b: 2}\n")


def test_a_document_over_ten_mebibytes_is_refused_before_it_is_parsed():
    with pytest.raises(ManifestError, match="10 MiB"):
        read_document(b"[" * (MAX_BYTES + 1))


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\uDfff": 1}', '{"a": ["x", {"b": "\\udc00\\ud800"}]}'])
def test_half_of_a_surrogate_pair_is_refused(text):
    with pytest.raises(ManifestError, match="surrogate"):
        read_document(text.encode())


def test_a_whole_surrogate_pair_is_one_character():
    assert read_document(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_an_error_is_said_in_bounds():
    error = ManifestError(FieldError("k" * 10**6, "unknown field") for _ in range(1000))
    assert len(error.texts()) == MAX_ERRORS + 1
    assert sum(map(len, error.texts())) <= (MAX_ERRORS + 1) * MAX_TEXT
