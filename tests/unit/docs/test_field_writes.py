"""The check of who writes which fields, on made-up modules: that it sees what it is for."""

from tests.field_writes import field_writes

_ACCOUNT = """
from dataclasses import dataclass, field
class Log:
    def add(self, text: str) -> None: ...
@dataclass
class Account:
    balance: int = 0
    entries: list[str] = field(default_factory=list)
    log: Log = field(default_factory=Log)
    def pay(self, amount: int) -> None:
        self.balance += amount
"""
_IMPORTS = "import argparse\nfrom bank.account import Account, accounts\nfrom bank.wire_pb2 import Transfer\n"


def _found(source: str) -> list[str]:
    sources = {"bank/account.py": _ACCOUNT, "bank/teller.py": _IMPORTS + source}
    return [target for path, _, target in field_writes(sources, ("bank",)) if path == "bank/teller.py"]


def test_an_assignment_to_a_field_of_another_modules_class_is_found():
    assert _found("def rob(account: Account): account.balance = 0") == ["account.balance"]
    assert _found("def rob(account: Account): account.balance -= 1") == ["account.balance"]
    assert _found("def rob(account: Account): del account.balance") == ["account.balance"]
    assert _found("def rob(a: Account, b: Account): a.balance, b.balance = 0, 0") == ["b.balance", "a.balance"]


def test_a_field_that_the_class_does_not_have_yet_is_found_too():
    assert _found("def mark(account: Account): account.robbed = True") == ["account.robbed"]


def test_changing_a_container_in_a_field_is_found():
    assert _found("def forge(account: Account): account.entries.append('')") == ["account.entries"]
    assert _found("def forge(account: Account): account.entries[0] = ''") == ["account.entries"]
    assert _found("def forge(account: Account): del account.entries[0]") == ["account.entries"]


def test_without_a_class_the_name_of_the_field_decides():
    assert _found("def rob():\n  for one in accounts(): one.balance = 0") == ["one.balance"]
    assert _found("def mark():\n  for one in accounts(): one.unheard_of = 0") == []


def test_a_write_to_a_field_of_a_held_object_is_found():
    source = """
class Teller:
    def __init__(self): self._account = Account()
    def rob(self): self._account.balance = 0
"""
    assert _found(source) == ["self._account.balance"]


def test_a_call_of_another_objects_method_is_no_write():
    assert _found("def pay(account: Account): account.pay(1)") == []
    assert _found("def note(account: Account): account.log.add('')") == []


def test_a_function_may_set_fields_of_an_object_that_it_has_built():
    assert _found("def opened():\n  account = Account()\n  account.balance = 1\n  return account") == []


def test_a_module_writes_the_fields_of_its_own_classes():
    source = "class Desk:\n  papers: list[str]\ndef clear(desk: Desk): desk.papers = []; desk.papers.clear()"
    assert _found(source) == []


def test_objects_of_libraries_and_generated_messages_are_passed_over():
    assert _found("def describe(parser: argparse.ArgumentParser): parser.balance = 0") == []
    assert _found("def fill(transfer: Transfer): transfer.entries.add().balance = 1") == []
    assert _found("def fill():\n  transfer = Transfer()\n  part = transfer.parts.add()\n  part.balance = 1") == []
