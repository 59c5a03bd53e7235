import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.flags.flag_table import FIELD_FLAGS, FLAG_OF_FIELD, FLAGS, OTHER_FLAGS, OWN_FLAGS, REMOVED
from actors.shared.config.flags.parsing import parse, positional
from actors.shared.config.flags.values import PARSERS, integer
from actors.shared.config.validation.rule_kinds import value_at


def read(*argv):
    parsed = parse(argv)
    assert not parsed.problems, [str(problem) for problem in parsed.problems]
    return parsed.values


def refused(*argv):
    return [str(problem) for problem in parse(argv).problems]


def test_all_flags_of_1_36_are_known():
    assert len(FIELD_FLAGS) + len(OTHER_FLAGS) == 152
    assert len(FLAGS) == 152 + len(OWN_FLAGS)
    assert not FLAGS.keys() & REMOVED.keys()


@pytest.mark.parametrize("field", sorted(FLAG_OF_FIELD))
def test_the_field_of_a_flag_exists(field):
    name = field.removeprefix("tracing.")
    assert value_at(KubeletConfiguration(), name) is not None or field in {"maxParallelImagePulls"}


@pytest.mark.parametrize("flag", [*OTHER_FLAGS, *OWN_FLAGS], ids=lambda flag: flag.name)
def test_the_default_of_a_flag_is_a_value_it_would_take(flag):
    PARSERS[flag.kind](flag.default, None)


@pytest.mark.parametrize(
    "argv",
    [["--max-pods=5"], ["--max-pods", "5"], ["--max_pods", "5"], ["--max_pods=0x5"], ["--max-pods=7", "--max-pods=5"]],
)
def test_a_value_is_given_with_or_without_an_equals_sign_and_the_last_one_counts(argv):
    assert read(*argv) == {"max-pods": 5}


@pytest.mark.parametrize("argv", [["-v4"], ["-v=4"], ["-v", "4"], ["--v=4"], ["--v", "4"]])
def test_verbosity_has_a_short_form(argv):
    assert read(*argv) == {"v": 4}


def test_help_has_a_short_form():
    assert read("-h") == {"help": True}
    assert refused("-hx") == ["-hx: unknown flag"]


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("t", True), ("TRUE", True), ("0", False), ("f", False), ("False", False)]
)
def test_a_bool_is_read_as_go_reads_it(text, value):
    assert read(f"--fail-swap-on={text}") == {"fail-swap-on": value}


def test_a_bool_flag_without_a_value_is_true_and_ignores_the_next_word():
    assert read("--fail-swap-on", "--max-pods=5") == {"fail-swap-on": True, "max-pods": 5}
    assert refused("--fail-swap-on", "false") == ["false: unexpected argument: only flags are accepted"]
    assert refused("--fail-swap-on=yes") == ['--fail-swap-on = "yes": must be true or false']


def test_positional_arguments_are_refused_before_and_after_the_end_of_flags():
    assert len(refused("start", "--max-pods=5", "--", "--max-pods=6", "x")) == 3
    assert refused("-") == ["-: unexpected argument: only flags are accepted"]


def test_an_unknown_flag_is_named_with_the_one_it_resembles():
    assert refused("--maxpods=5") == ["--maxpods: unknown flag, did you mean --max-pods?"]
    assert refused("--fail-swap") == ["--fail-swap: unknown flag, did you mean --fail-swap-on?"]


def test_a_flag_at_the_end_without_its_value_is_refused():
    assert refused("--max-pods") == ["--max-pods: needs a value"]


def test_every_problem_is_reported_and_not_only_the_first():
    assert len(refused("--max-pods=x", "--port=99999999999", "--nope", "word", "--sync-frequency=1d")) == 5


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        (["--node-labels=a=b,c=d", "--node-labels", "e=f"], {"a": "b", "c": "d", "e": "f"}),
        (["--eviction-hard=memory.available<1Gi,nodefs.available<10%"],
         {"memory.available": "1Gi", "nodefs.available": "10%"}),
        (["--eviction-hard="], {}),
        (["--feature-gates=A=true", "--feature-gates=B=0,A=f"], {"A": False, "B": False}),
        (["--node-labels=a,b=c, d ,", "--node-labels=b="], {"a": "", "b": "", "d": ""}),
        (["--cluster-dns=10.0.0.1,10.0.0.2", "--cluster-dns=10.0.0.3"], ["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
        (["--manifest-url-header=a:b,a:c", "--manifest-url-header=d:e:f"], {"a": ["b", "c"], "d": ["e:f"]}),
        (["--register-with-taints=k=v:NoSchedule", "--register-with-taints=x:NoExecute"],
         [{"key": "x", "value": "", "effect": "NoExecute"}]),
        (["--register-with-taints=k=v:NoSchedule", "--register-with-taints="], []),
        (["--register-with-taints=k=v:NoSchedule,x:NoExecute"],
         [{"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "x", "value": "", "effect": "NoExecute"}]),
        (["--reserved-memory", "0:memory=1Gi,hugepages-2Mi=1Gi;1:memory=2Gi"],
         [{"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-2Mi": "1Gi"}},
          {"numaNode": 1, "limits": {"memory": "2Gi"}}]),
        (["--vmodule=pleg=4,prober*=2"],
         [{"filePattern": "pleg", "verbosity": 4}, {"filePattern": "prober*", "verbosity": 2}]),
        (["--sync-frequency=90s"], "1m30s"),
        (["--address= 10.0.0.1 "], "10.0.0.1"),
        (["--version"], "true"),
        (["--version=raw"], "raw"),
        (["--experimental-kernel-memcg-notification"], True),
    ],
)  # fmt: skip
def test_each_kind_of_value_is_read_as_the_kubelet_reads_it(argv, value):
    assert list(read(*argv).values()) == [value]


@pytest.mark.parametrize(
    "word",
    ["--eviction-hard=memory.available=1Gi", "--feature-gates=A=yes", "--address=10.0.0",
     "--register-with-taints=a=b", "--register-with-taints=a=b:Never", "--reserved-memory=memory=1Gi",
     "--vmodule=a", "--vmodule=a=-1", "--port=0x", "--port=1__0", "--port=_1", "--port=1.0",
     "--max-open-files=9223372036854775808",
     "--v=-1", "--cluster-dns=\"a", "--version=1.2", "--log-text-info-buffer-size=1 Mi", "--sync-frequency=5"],
)  # fmt: skip
def test_a_value_that_the_kubelet_refuses_is_refused_with_the_rule(word):
    (problem,) = refused(word)
    assert problem.startswith(word.partition("=")[0])


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from([str, hex, oct, bin]))
def test_integers_are_read_in_every_base_of_go(number, notation):
    assert integer(notation(number)) == number


@given(st.lists(st.text(max_size=12), max_size=6))
def test_no_command_line_makes_the_parser_fail_or_is_ignored(argv):
    parsed = parse(argv)
    assert not any(argv) or argv[0] == "--" or parsed.problems or parsed.values or parsed.warnings
    assert not parsed.values or any(word.startswith("-") for word in argv)


@given(
    st.sampled_from(sorted(FLAGS)),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=20),
)
def test_no_value_makes_a_reader_fail(name, text):
    parsed = parse([f"--{name}={text}"])
    assert bool(parsed.problems) != (name in parsed.values)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z.]{0,9}", fullmatch=True), st.from_regex(r"[A-Za-z0-9%:.]{0,9}", fullmatch=True)
    )
)
def test_a_map_that_is_written_out_is_read_back(entries):
    text = ",".join(f"{key}={value}" for key, value in entries.items())
    assert PARSERS["map"](text, None) == entries


@given(st.integers(0, 1 << 62))
def test_a_duration_flag_keeps_every_nanosecond(nanoseconds):
    text = str(Duration.of_nanoseconds(nanoseconds))
    assert read(f"--sync-frequency={text}") == {"sync-frequency": text}


def test_the_value_of_a_secret_flag_is_hidden_in_what_is_logged():
    parsed = parse(["--manifest-url-header=Authorization:Bearer x", "--storage-driver-password=x", "--max-pods=5"])
    assert parsed.written == {
        "manifest-url-header": "--- HIDDEN ---",
        "storage-driver-password": "--- HIDDEN ---",
        "max-pods": "5",
    }


def test_deprecated_flags_are_named_with_what_to_do_instead():
    given = ["--max-pods=5", "--maximum-dead-containers=3", "--experimental-mounter-path=/x", "--node-ip=192.0.2.1"]
    first, second = parse(given).warnings
    assert first == "deprecated flags, set these in the file of --config instead: --max-pods"
    assert second.endswith("without replacement: --experimental-mounter-path, --maximum-dead-containers")


def test_a_flag_without_effect_is_accepted_with_one_warning_that_names_what_is_missing():
    warnings = parse(["--housekeeping-interval=5s", "--housekeeping-interval=6s"]).warnings
    assert len([line for line in warnings if re.search("housekeeping.*no effect.*cAdvisor", line)]) == 1


@pytest.mark.parametrize(
    "word",
    ["--pod-infra-container-image=registry.k8s.io/pause:3.4.1", "--network-plugin=cni", "--container-runtime=remote",
     "--host-network-sources=*", "--allow-privileged", "--experimental-dockershim=false", "--logtostderr=true",
     "--docker-endpoint=unix:///x", "--cni-bin-dir=/opt/cni/bin", "--register-schedulable=true"],
)  # fmt: skip
def test_a_removed_flag_that_changes_nothing_is_accepted_with_a_warning(word):
    parsed = parse([word])
    assert not parsed.problems
    assert [line for line in parsed.warnings if "was removed and is ignored" in line]
    assert parsed.values == {}


@pytest.mark.parametrize(
    ("word", "said"),
    [("--container-runtime=docker", "--container-runtime-endpoint"), ("--experimental-dockershim", "cri-dockerd"),
     ("--register-schedulable=false", "--register-with-taints"), ("--allow-privileged=false", "always allowed")],
)  # fmt: skip
def test_a_removed_flag_that_would_change_something_is_refused_with_the_way_out(word, said):
    (problem,) = refused(word)
    assert said in problem


def test_words_that_are_no_flags_are_distinguished_from_values_of_flags():
    words = ["abc", "--root-dir", "/x", "--fail-swap-on", "def", "-v", "4", "-v4", "--max-pods=3", "ghi"]
    names, flags = positional(words)
    assert names == ["abc", "def", "ghi"]
    assert flags == ["--root-dir", "/x", "--fail-swap-on", "-v", "4", "-v4", "--max-pods=3"]
    assert positional(["--root-dir"]) == ([], ["--root-dir"])
