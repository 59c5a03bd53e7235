"""Whatever stands in a configuration: it is taken, or refused in words. Nothing else is raised."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.shared.config.documentation import entries
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.fields.kubelet_configuration import API_VERSION, KIND
from actors.shared.config.flags.flag_table import FLAGS
from actors.shared.config.flags.parsing import parse
from actors.shared.config.sources.documents import Document
from actors.shared.config.sources.effective import effective
from actors.shared.config.sources.merge_patch import put
from actors.shared.config.validation.rule_kinds import ValidationContext
from tests.support.examples import examples

PATHS = sorted({entry.path for entry in entries() if not set("[]<>") & set(entry.path)} - {"apiVersion", "kind"})
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
    | st.sampled_from(
        ["5m", "-1s", "10%", "101%", "1Gi", "1e400", "0x1F", "VersionTLS12", "::1", "/../.."]
    )
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SITUATION = ValidationContext(online_cpus=frozenset(range(4)), cgroup_v2=True)


def problems(documents: list[Document], flags: dict[str, Any]) -> tuple[ConfigProblem, ...]:
    """None when all is taken."""
    try:
        made = effective(documents, flags, SITUATION)
    except ConfigErrors as errors:
        return errors.problems or (ConfigProblem("", "", ""),)
    json.dumps(made.sources)
    return ()


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=6))
def test_any_value_at_any_field_is_taken_or_refused_with_its_path(fields):
    data = {"apiVersion": API_VERSION, "kind": KIND}
    for path, value in fields:
        try:
            put(data, path, value)
        except (TypeError, AttributeError):  # below a field that another gave a plain value
            continue
    assert all(problem.path and problem.rule for problem in problems([Document("fuzz", data, {})], {}))


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(FLAGS)), st.text(max_size=20) | st.sampled_from(["1", "true", "a=b", "a<1"]))
    )
)
def test_any_value_of_any_flag_is_taken_or_refused_with_its_name(flags):
    parsed = parse([f"--{name}={text}" for name, text in flags])
    assert all(problem.path.startswith("--") and problem.rule for problem in parsed.problems)
    fields = {name: value for name, value in parsed.values.items() if FLAGS[name].field}
    assert all(problem.rule for problem in problems([], fields))
