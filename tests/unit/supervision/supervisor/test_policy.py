from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.spec import SUPERVISOR_POLICY, ChildSpec, Policy, PolicySettings, walk
from supervision.supervisor.policy import load, load_text
from supervision.supervisor.policy_file import PolicyError
from supervision.supervisor.policy_rules import RULES, SUPERVISORS_ONLY, shown, wrong_policies


def leaf(name: str) -> ChildSpec:
    return ChildSpec(name=name, actor="m:C")


WORKERS = ChildSpec(name="pod_workers", children=(leaf("worker/0"), leaf("worker/1")))
TREE = ChildSpec(name="root", children=(leaf("pleg"), WORKERS, leaf("prober")))


def policies(tmp_path: Path, text: str, **options: Any) -> dict[str, Policy]:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    return load(path, TREE, **options)


def problems(tmp_path: Path, text: str, **options: Any) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        policies(tmp_path, text, **options)
    return [str(problem).removeprefix(f"{tmp_path}/policy.yaml").removeprefix(":") for problem in caught.value.problems]


def test_every_setting_has_a_rule() -> None:
    assert set(RULES) == set(Policy.__struct_fields__)


@pytest.mark.parametrize(("length", "text"), [(58, repr("x" * 58)), (59, "'" + "x" * 56 + "...")])
def test_a_wrong_value_is_shown_in_sixty_characters(length: int, text: str) -> None:
    assert shown("x" * length) == text
    assert len(text) == 60


def test_names_override_patterns_and_patterns_override_sections(tmp_path: Path) -> None:
    found = policies(
        tmp_path,
        """
version: 1
defaults: {memory_mib: 100, shutdown_seconds: 1}
supervisors: {memory_mib: 50, strategy: one_for_all}
actors:
  pod_workers/worker/0: {memory_mib: 400}
  pod_workers/*: {memory_mib: 200, start_seconds: 20}
  pod_workers/worker/*: {memory_mib: 300}
""",
    )
    assert {name: policy.memory_mib for name, policy in found.items()} == {
        "root": 50,
        "pleg": 100,
        "pod_workers": 50,
        "pod_workers/worker/0": 400,
        "pod_workers/worker/1": 300,
        "prober": 100,
    }
    assert found["pod_workers/worker/0"].start_seconds == 20
    assert found["pod_workers"].strategy == "one_for_all"
    assert found["pleg"].shutdown_seconds == 1


def test_a_file_without_settings_gives_the_default_policy_of_each_actor(tmp_path: Path) -> None:
    found = policies(tmp_path, "version: 1\ndefaults:\nactors:\n")
    assert found == {name: spec.default_policy for name, _, spec in walk(TREE)}
    assert found["pleg"] == Policy()
    assert found["pod_workers"] == SUPERVISOR_POLICY


def test_the_default_policy_of_a_spec_goes_before_the_sections_and_after_entries(tmp_path: Path) -> None:
    own = PolicySettings(memory_mib=64, start_seconds=40)
    group = ChildSpec(name="group", children=(leaf("a"),), policy=PolicySettings(period_seconds=600))
    tree = ChildSpec(name="root", children=(ChildSpec(name="pleg", actor="m:C", policy=own), leaf("prober"), group))
    text = """
version: 1
defaults: {memory_mib: 100, shutdown_seconds: 1, max_restarts: 20}
supervisors: {period_seconds: 5}
actors:
  p*: {start_seconds: 50}
"""
    found = load_text(text, "policy.yaml", tree)
    pleg, prober, supervisor = found["pleg"], found["prober"], found["group"]
    assert (pleg.memory_mib, pleg.start_seconds, pleg.shutdown_seconds) == (64, 50, 1)
    assert (prober.memory_mib, prober.start_seconds, prober.shutdown_seconds) == (100, 50, 1)
    assert (supervisor.memory_mib, supervisor.period_seconds, supervisor.max_restarts) == (100, 600, 3)


@pytest.mark.parametrize("of_the_engine", [Policy(), SUPERVISOR_POLICY])
def test_a_declared_setting_holds_also_where_it_equals_a_default_of_the_engine(of_the_engine: Policy) -> None:
    settings = PolicySettings(max_restarts=of_the_engine.max_restarts, period_seconds=of_the_engine.period_seconds)
    group = ChildSpec(name="group", children=(leaf("a"),), policy=settings)
    tree = ChildSpec(name="root", children=(group,))
    text = "version: 1\nsupervisors: {max_restarts: 5, period_seconds: 7}\n"
    for found in (group.default_policy, load_text(text, "policy.yaml", tree)["group"]):
        assert (found.max_restarts, found.period_seconds) == tuple(settings.values())


def test_settings_have_the_fields_and_types_of_a_policy() -> None:
    assert get_type_hints(PolicySettings) == get_type_hints(Policy)


def test_every_error_is_reported_at_once_with_line_field_value_and_rule(tmp_path: Path) -> None:
    text = """version: 2
default:
  restart: permanent
defaults:
  restart: always
  memory_mib: lots
  heartbeat_seconds: 0.1
  colour: red
actors:
  plegg:
    restart: transient
  pleg:
    strategy: one_for_all
    shutdown_seconds: true
    max_restarts: 1.5
  prober: 7
  pod_workers:
    backoff_seconds: 5
    backoff_max_seconds: 1
    max_restart: 3
"""
    assert problems(tmp_path, text) == [
        "1: version: must be 1, not 2",
        "2: default: is not known, did you mean defaults?",
        "5: defaults.restart: must be one of permanent, transient, temporary, not 'always'",
        "6: defaults.memory_mib: must be a whole number from 16 to 1048576, or 0, not 'lots'",
        "7: defaults.heartbeat_seconds: must be a number from 0.5 to 3600, or 0, not 0.1",
        "8: defaults.colour: is not known",
        "10: actors.plegg: matches no actor of the tree, did you mean pleg?",
        "13: actors.pleg.strategy: is for supervisors only",
        "14: actors.pleg.shutdown_seconds: must be a number from 0 to 3600, not True",
        "15: actors.pleg.max_restarts: must be a whole number from 0 to 1000, not 1.5",
        "16: actors.prober: must be a mapping of settings, not 7",
        "19: actors.pod_workers.backoff_max_seconds: is 1, less than backoff_seconds, 5",
        "20: actors.pod_workers.max_restart: is not known, did you mean max_restarts?",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "must be a mapping with `version` and `actors`"),
        ("- 1\n", "1: must be a mapping with `version` and `actors`"),
        ("version: 1\nactors: {a: [}\n", "2: is not YAML: "),
        (
            "version: 1\nactors: !!python/object:os.system {}\n",
            "2: actors: must have no tag (tag:yaml.org,2002:python/object:os.system)",
        ),
        ("version: 1\ndefaults: {restart: !!python/name:os.system }\n", "2: defaults.restart: must have no tag"),
        ("version: &a 1\ndefaults: *a\n", "2: the alias *a cannot be used here"),
        ("version: 1\nversion: 1\n", "2: version: given twice"),
        (
            "version: 1\nactors:\n  pleg: {restart: transient, restart: temporary}\n",
            "3: actors.pleg.restart: given",
        ),
        ("actors: {}\n", "version: must be 1, it is missing"),
        ("version: 1\nactors:\n  pleg: {significant: true}\n", "3: actors.pleg.significant: an actor that is always"),
        (
            "version: 1\nactors:\n  pleg: {significant: true, restart: transient}\n",
            "3: actors.pleg.significant: has no effect: auto_shutdown of root is none",
        ),
        ("version: 1\nactors:\n  root: {restart: temporary}\n", "3: actors.root.restart: the root must be permanent"),
    ],
)
def test_an_unusable_policy_is_refused(tmp_path: Path, text: str, found: str) -> None:
    (problem, *_) = problems(tmp_path, text)
    assert problem.removeprefix(" ").startswith(found)


def test_a_tag_that_makes_objects_makes_none(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"version: 1\ndefaults:\n  restart: !!python/object/apply:os.system ['touch {mark}']\n"
    assert "must have no tag" in problems(tmp_path, text)[0]
    assert not mark.exists()


def test_an_unreadable_file_has_a_reason(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"nowhere: cannot be read: No such file"):
        load(tmp_path / "nowhere", TREE)


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    assert "must be at most 1 MiB" in problems(tmp_path, "#" * 1024 * 1025)[0]


def test_true_is_no_version(tmp_path: Path) -> None:
    assert problems(tmp_path, "version: true\n") == ["1: version: must be 1, not True"]


def test_an_actor_of_another_configuration_may_be_named(tmp_path: Path) -> None:
    text = "version: 1\nactors:\n  read_only_server: {memory_mib: 64}\n"
    assert problems(tmp_path, text) == ["3: actors.read_only_server: matches no actor of the tree"]
    assert "read_only_server" not in policies(tmp_path, text, also_known=["read_only_server"])


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_content_of_the_file_gives_policies_or_problems(
    tmp_path_factory: pytest.TempPathFactory, content: str | bytes
) -> None:
    path = tmp_path_factory.mktemp("policy") / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(errors="surrogatepass"))
    with pytest.raises(PolicyError) as caught:
        load(path, TREE)
    assert caught.value.problems


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)


OF_ACTORS = ("shutdown_seconds", "start_seconds", "heartbeat_seconds", "busy_seconds", "memory_mib")
GOOD = st.dictionaries(st.sampled_from(OF_ACTORS), st.integers(16, 100), min_size=1)


@given(GOOD | st.dictionaries(st.sampled_from([*RULES, "other"]), json_values, min_size=1, max_size=5))
def test_a_setting_is_accepted_unchanged_or_named_in_a_problem(
    tmp_path_factory: pytest.TempPathFactory, settings: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("policy") / "file"
    path.write_bytes(msgspec.json.encode({"version": 1, "actors": {"pod_workers": settings}}))
    found, wrong = None, []
    try:
        found = load(path, TREE)["pod_workers"]
    except PolicyError as error:
        wrong = [p for p in error.problems if p.path.startswith("actors.pod_workers.") or "YAML" in p.rule]
    if found is None:
        assert wrong
    else:
        assert {field: getattr(found, field) for field in settings} == settings


def test_supervisor_settings_are_known_settings() -> None:
    assert set(RULES) >= SUPERVISORS_ONLY


def test_the_parser_is_not_imported_by_the_supervisor() -> None:
    """yaml costs memory in every actor's process."""
    code = "import sys, supervision.supervisor.supervisor; print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "False\n"


def test_policies_that_an_order_sets_are_validated_as_those_of_a_file() -> None:
    good = {"root": Policy(), "pleg": Policy(restart="transient", memory_mib=0)}
    assert wrong_policies(good) == ""
    bad = {"root": Policy(restart="temporary"), "pleg": Policy(memory_mib=-5, shutdown_seconds=float("nan"))}
    assert wrong_policies(bad) == (
        "root.restart: the root must be permanent; "
        "pleg.shutdown_seconds: must be a number from 0 to 3600, not nan; "
        "pleg.memory_mib: must be a whole number from 16 to 1048576, or 0, not -5"
    )
