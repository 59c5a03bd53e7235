"""The check of the shape, on made-up modules: that it sees what it is for."""

from tests.shape import attributes, borrowed_targets, circles, map_problems, shared_names


def test_modules_that_import_each_other_by_any_number_of_steps_are_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_two_circles_are_two_groups():
    assert sorted(circles({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}})) == [["a", "b"], ["c", "d"]]


def test_modules_in_layers_are_no_circle():
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_attributes_set_by_any_method_are_counted_once():
    source = """
class Wide:
    def __init__(self):
        self.one, self.two = 1, 2
    def later(self, other):
        self.one = self.three = 3
        other.four = 4
"""
    assert dict(attributes(source)) == {"Wide": 3}


def test_a_declared_field_is_an_attribute_and_a_class_variable_is_none():
    source = """
class Wide:
    one: int
    two: str = ""
    three: ClassVar[int] = 3
    def later(self):
        self.two = "b"
"""
    assert dict(attributes(source)) == {"Wide": 2}


def test_a_public_class_name_in_two_modules_is_shared():
    sources = {"a.py": "class Event: ...\nclass Other: ...", "b.py": "class Event: ...", "c.py": "Other = int"}
    assert shared_names(sources) == {"Event": ["a.py", "b.py"]}


def test_private_classes_of_two_modules_may_have_the_same_name():
    assert shared_names({"a.py": "class _Data: ...", "b.py": "class _Data: ..."}) == {}


def test_a_function_of_another_actor_that_is_named_by_a_text_is_found():
    source = 'OWN = "actors.pleg.relist:run"\nSHARED = "actors.shared.cri.shims:end"\nOTHER = "actors.prober.x.y:run"'
    assert list(borrowed_targets("actors/pleg/deep/module.py", source)) == ["actors.prober.x.y:run"]
    assert list(borrowed_targets("actors/agent/start.py", source)) == []


def test_modules_of_one_kind_are_named_by_their_ending():
    assert list(map_problems("exec and others: *_probe", {"exec_probe", "tcp_probe"})) == []


def test_a_package_names_its_modules_and_no_others():
    text = (
        "A package for five.\n\none.py   the first; two.py: the second, `four`\ngone.py  what was there\n| six | nine |"
    )
    modules = {"one", "two", "three", "four", "five", "six", "seven", "actor"}
    assert list(map_problems(f"{text}\nseven/  below", modules)) == [
        "its docstring does not say what five is",
        "its docstring does not say what three is",
        "its docstring names gone, which is not there",
    ]
