"""Which errors may be consequences of others."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from actors.pod_config.validation.errors import FieldError
from actors.pod_config.validation.shape import unrelated

PARTS = st.lists(st.sampled_from([".a", ".ab", "[0]", "[1]", "[x.y]"]), max_size=4)
PATHS = st.lists(PARTS.map(lambda parts: "".join(parts).removeprefix(".")), max_size=5)


def is_related(one: str, other: str) -> bool:
    """Whether one of the fields is the other, or in it."""
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or not shorter or (longer.startswith(shorter) and longer[len(shorter)] in ".[")


@given(PATHS, PATHS)
@example(["a"], ["ab"])
@example(["a[0].b", "a[1]", "a"], ["a[0]"])
@example(["a"], [""])
def test_an_error_at_or_below_an_invalid_field_is_not_reported_again(errors: list[str], found: list[str]):
    left = unrelated([FieldError(path, "") for path in errors], [FieldError(path, "") for path in found])
    expected = [path for path in errors if not any(is_related(path, each) for each in found)]
    assert [error.path for error in left] == expected


def test_a_name_may_be_megabytes_long():
    path = f"metadata.labels[{'a.' * 500_000}]"
    assert unrelated([FieldError(path, "")], [FieldError("spec.x", "")]) == [FieldError(path, "")]
    assert unrelated([FieldError(path, "")], [FieldError("metadata.labels", "")]) == []
