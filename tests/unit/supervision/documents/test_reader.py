"""Documents are read within their limits, whatever is in them."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from supervision.documents.model import DocumentError, DocumentLimits
from supervision.documents.reader import read
from supervision.documents.scalars import plain_scalar
from tests.support.examples import examples

LIMITS = DocumentLimits(size=10 << 20, depth=64, nodes=2_000_000)


def read_document(data):
    return read(data, LIMITS)[0]


def is_text(text):
    try:
        return isinstance(plain_scalar(text), str)
    except ValueError:
        return False


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
objects = st.dictionaries(st.text(min_size=1, max_size=8).filter(lambda key: key != "<<"), plain, min_size=1)


@given(objects)
def test_json_is_decoded_to_its_value(value):
    assert read_document(json.dumps(value).encode()) == value


words = st.text(max_size=20).filter(is_text)
"""PyYAML leaves 1e3 unquoted, which it reads as text itself."""


@given(st.dictionaries(words, words | st.lists(words | st.integers() | st.booleans() | st.none()), min_size=1))
@settings(max_examples=examples(100))
def test_yaml_written_by_another_library_comes_back_as_it_was(value):
    assert read_document(yaml.safe_dump(value, allow_unicode=False).encode()) == value


@given(st.binary(max_size=300) | st.text(alphabet="{}[]:,-&*!|>'\"# \nab1.", max_size=80).map(str.encode))
def test_any_bytes_give_data_or_a_manifest_error(data):
    problems = None
    try:
        read_document(data)
    except DocumentError as error:
        problems = error.problems
    assert problems is None or [problem.rule for problem in problems if problem.rule]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("y", True), ("N", False), ("Off", False), ("nope", "nope"),
        ("null", None), ("", None), ("0644", 0o644), ("0o17", 15), ("0x1F", 31),
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
        ("a: 1\na: 2\n", "line 2: a: given twice"),
        ("a: 1\na: 2\nb: 1\nb: 2\n", "line 4: b: given twice"),
        ('{"a": 1, "a": 2}', "a: given twice"),
        ("a: 1\n---\nb: 2\n", "line 2: : must be one document"),
        ("x:\n- a: !!python/object/apply:os.system [id]\n", "line 2: x[0].a: must have no tag"),
        ("a: !!binary aGk=\n", "must have no tag"),
        ("a: !!int word\n", "'word' is not a int"),
        ("a: [1\n", "line 2: : is not YAML"),
        ("a: .inf\n", "line 1: a: must be a number that JSON can hold"),
        ("a: " + "9" * 5000, "must be a number that JSON can hold"),
        ("a: 1" + "0" * 400 + ".5", "must be a number that JSON can hold"),
        ('{"a": NaN}', "NaN"),
        ("? [a]\n: b\n", "a key must be a plain string"),
        ("a: *b\n", "alias *b"),
        ("a: &x [*x]\n", "alias *x"),
    ],
)
def test_an_error_names_its_line(text, wrong):
    with pytest.raises(DocumentError) as caught:
        read_document(text.encode())
    assert wrong in str(caught.value)


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a: "])
def test_nesting_is_bounded(opening):
    with pytest.raises(DocumentError):
        read_document((opening * 100_000).encode())
    deep = "x: " + "[" * (LIMITS.depth - 1) + "]" * (LIMITS.depth - 1)
    assert read_document(deep.encode())
    with pytest.raises(DocumentError, match="levels deep"):
        read_document(("x: " + "[" * LIMITS.depth + "]" * LIMITS.depth).encode())


def test_aliases_that_multiply_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(DocumentError, match="those of aliases"):
        read_document("\n".join(lines).encode())


def test_aliases_and_merge_keys_are_read():
    text = "base: &b {a: 1, b: 2}\nnew: {<<: *b, b: 3}\nlist: {<<: [{c: 1}, {c: 2}]}\n"
    assert read_document(text.encode()) == {
        "base": {"a": 1, "b": 2}, "new": {"a": 1, "b": 3}, "list": {"c": 1},
    }  # fmt: skip


def test_a_quoted_merge_key_is_a_plain_key():
    text = '"<<": {a: 1}\n"\\0<<": {b: 2}\n<<: {c: 3}\n'
    assert read_document(text.encode()) == {"<<": {"a": 1}, "\0<<": {"b": 2}, "c": 3}
    with pytest.raises(DocumentError, match="given twice"):
        read_document(b"<<: {a: 1}\n<<: {b: 2}\n")


def test_a_document_over_ten_mebibytes_is_refused_before_it_is_parsed():
    with pytest.raises(DocumentError, match="10 MiB"):
        read_document(b"[" * (LIMITS.size + 1))


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\uDfff": 1}', '{"a": ["x", {"b": "\\udc00\\ud800"}]}'])
def test_half_of_a_surrogate_pair_is_refused(text):
    with pytest.raises(DocumentError, match="surrogate"):
        read_document(text.encode())


def test_a_whole_surrogate_pair_is_one_character():
    assert read_document(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null"])
def test_an_empty_document_has_no_data(text):
    assert read(text.encode(), LIMITS)[0] is None


def test_the_line_of_every_field_is_recorded_on_request():
    text = b"a:\n  b:\n  - c\n  - d\nx.y: 1\n"
    assert read(text, LIMITS)[1] == {"": 1, "a": 1, "a.b": 2, "a.b[0]": 3, "a.b[1]": 4, "[x.y]": 5}
    assert read(text, DocumentLimits(lines=False))[1] == {}


def test_aliases_can_be_forbidden():
    with pytest.raises(DocumentError, match="line 2"):
        read(b"a: &x 1\nb: *x\n", DocumentLimits(aliases=False))
