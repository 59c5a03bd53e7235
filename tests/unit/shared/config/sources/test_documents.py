import json
import re
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.shared.config.errors import ConfigErrors
from actors.shared.config.sources.documents import LIMITS, MAX_BYTES, read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 53), 1 << 53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def problems_of(text):
    with pytest.raises(ConfigErrors) as caught:
        read(text.encode() if isinstance(text, str) else text, "f")
    return [str(problem) for problem in caught.value.problems]


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_json_is_read_exactly(data):
    assert read(json.dumps(data).encode(), "f").data == data


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200) | st.text(alphabet=" \n-:{}[]&*!|>'\"#%@`,?ab01<.~", max_size=60).map(str.encode))
def test_no_bytes_make_the_reader_fail(raw):
    with suppress(ConfigErrors):
        assert isinstance(read(raw, "f").data, dict)


@pytest.mark.parametrize(
    ("text", "value"),
    [("yes", True), ("off", False), ("~", None), ("0o17", 15), ("017", 15), ("0x1F", 31), ("1_000", 1000),
     ("1:30", "1:30"), ("1e3", 1000.0),
     ("1.5", 1.5), ("2026-01-01", "2026-01-01"), ("'5'", "5"), ("-7", -7), ("=", "=")],
)  # fmt: skip
def test_yaml_scalars_have_the_types_of_yaml_1_1_as_far_as_json_has_them(text, value):
    assert read(f"a: {text}".encode(), "f").data == {"a": value}


def test_keys_become_text_as_json_has_only_those():
    assert read(b"1: a\ntrue: b", "f").data == {"1": "a", "true": "b"}


def test_the_line_of_every_field_is_known():
    document = read(b"a:\n  b:\n  - c\n  - d\nx.y: 1\n", "f")
    assert document.lines == {"": 1, "a": 1, "a.b": 2, "a.b[0]": 3, "a.b[1]": 4, "[x.y]": 5}


def test_merge_keys_fill_missing_fields():
    assert read(b"base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n", "f").data["use"] == {"x": 1, "y": 3}


def test_an_empty_document_is_an_empty_object():
    assert read(b"", "f").data == read(b"# nothing\n", "f").data == {}


def test_a_field_given_twice_is_refused_in_yaml_and_in_json():
    assert problems_of("a: 1\nb: 2\na: 3") == ["a: given twice in one object (from f:3)"]
    assert problems_of('{"a": 1, "a": 2}') == ["a: given twice in one object (from f)"]


@pytest.mark.parametrize(
    "text",
    ["- a", "word", "[1]", "a: !!python/object/apply:os.system [id]", "a: !x 1", "a: b: c", "a: [", "? {a: 1}\n: 2",
     "a: .inf", "a: .nan", '{"a": 1} x', "a: 1\n---\nb: 2", "\ta: 1", "a: *nowhere",
     "a: " + "9" * 5000, "{" * 2000, '{"a":' * 2000, "a: &x [*x]", "<<: 5"],
)  # fmt: skip
def test_a_document_that_is_not_an_object_is_refused_with_its_file(text):
    assert all(re.search(r"^f(:\d+)?: | \(from f", problem) for problem in problems_of(text))


def test_bytes_that_are_no_text_are_refused():
    assert problems_of(b"a: \xff\xfe")[0].startswith("f: must be UTF-8")


def test_a_byte_order_mark_is_passed_over():
    assert read(b"\xef\xbb\xbfa: 1", "f").data == {"a": 1}


def test_size_and_depth_are_bounded():
    assert "bytes" in problems_of(b"a" * (MAX_BYTES + 1))[0]
    assert "levels" in problems_of('{"a":' * (LIMITS.depth + 5) + "1" + "}" * (LIMITS.depth + 5))[0]
    assert "levels" in problems_of("a: " + "[" * (LIMITS.depth + 5) + "]" * (LIMITS.depth + 5))[0]
    assert "values" in problems_of('{"a": [' + "1," * 60_000 + "1]}")[0]


def test_a_billion_laughs_are_not_expanded():
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "must hold at most" in problems_of("\n".join(lines))[-1]


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "[" * 5_000 + "]" * 5_000, "- " * 20_000, '{"a":' * 100_000])
def test_endless_nesting_is_refused_and_ends_no_process(text):
    with pytest.raises(ConfigErrors):
        read(text.encode(), "file")


def test_half_of_a_surrogate_pair_is_refused():
    with pytest.raises(ConfigErrors, match="surrogate"):
        read(b'{"a": ["\\ud800"]}', "file")
    assert read(b'{"a": "\\ud83d\\ude00"}', "file").data == {"a": "\U0001f600"}
