"""`supervise config check|show|explain`: validate and show a configuration without starting anything.

`history` and `rollback`, which deal with trials, are in the config controller's package.

`check` and `show` take the flags of `supervise start`. Without flags they use the flags of a running agent. None of
these commands needs one.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TextIO

from supervision.cli.document import FORMS, document_text, error_text, form_of
from supervision.documents.suggestions import did_you_mean, hint_of

from .errors import ConfigErrors, ConfigProblem, UsageErrors

ABOUT: Final = """\
Usage: supervise config check [-o json|yaml] [flags of start]
           validate flags, files and what they name, all at once
       supervise config show [FIELD ...] [-o json|yaml] [flags of start]
           every effective value, or those of FIELD, each with its source
       supervise config explain FIELD|--FLAG|GATE
           what it means, its default, its rules
       supervise config history [-o json|yaml] [--root-dir=DIR]
           which configurations were in force
       supervise config rollback [HASH] [--root-dir=DIR]
           go back to one of them, or to the last known good

Without flags, or with --root-dir only, `check` and `show` use the flags of the
agent that runs there.

Examples:

    supervise config check --config=etc/kubelet-config.yaml --max-pods=50
    supervise config show maxPods evictionHard
    supervise config explain authentication.x509.clientCAFile
    supervise config explain --max-pods

Exit codes:

    0  done; `check`: valid
    1  `check`: there are errors, each with its flag or field;
       a field or configuration that there is not
    2  the command line is wrong; `check` lists unknown flags as errors instead
    4  the agent, or its files, are another user's
"""


_SAME: Final = {
    "view": "show",
    "get": "show",
    "print": "show",
    "validate": "check",
    "undo": "rollback",
    "log": "history",
}
"""Words of other programs, with the corresponding command."""
_WRITES: Final = frozenset({"set", "edit", "apply", "unset", "patch"})
_WRITTEN: Final = ": change the file that --config names; the agent reads it again by itself"
"""For words of other programs that change a configuration."""
Validate = Callable[[Sequence[str]], tuple[tuple[str, ...], tuple[ConfigProblem, ...]]]
"""Returns the warnings and problems of a command line."""
Command = Callable[[Sequence[str], str, TextIO], int]
"""Takes the arguments, the form of the document that is asked for ('' for text), and the output stream; returns the
exit code."""


def run(
    words: Sequence[str],
    out: TextIO | None = None,
    err: TextIO | None = None,
    *,
    more: Mapping[str, Command] = types.MappingProxyType({}),
) -> int:
    """Run `config WORDS`; the first word is in COMMANDS or `more`. Exit codes: 0: valid, 1: problems, 2: usage
    error."""
    out, err = out or sys.stdout, err or sys.stderr
    command = {**COMMANDS, **more}.get(words[0]) if words else None
    if command is None or {"-h", "--help"} & set(words):
        wants_help = bool({"-h", "--help", "help"} & set(words))
        if words and not wants_help:
            hint = did_you_mean(_SAME.get(words[0], words[0]), {**COMMANDS, **more})
            hint = _WRITTEN if words[0] in _WRITES else hint
            err.write(f"supervise config: there is no command {words[0]}{hint}\n  see `supervise config --help`\n")
        else:
            from supervision.cli.text import folded, terminal_columns

            stream = out if wants_help else err
            stream.write(folded(ABOUT, terminal_columns(stream)))
        return 0 if wants_help else 2
    form = ""
    try:
        form, rest = take_form(words[1:])
        return command(rest, form, out)
    except UsageErrors as error:
        err.write(f"{_plain(error, err)}\n  see `supervise config --help`\n")
        return 2
    except ConfigErrors as error:
        if form:
            out.write(f"{error_text(str(error), 1, form)}\n")
        else:
            err.write(f"{_plain(error, err)}\n")
        return 1


def _plain(error: ConfigErrors, err: TextIO) -> str:
    """Each problem in a line, which is folded to the width of the terminal."""
    from supervision.cli.text import plain, terminal_columns, wrapped

    columns = terminal_columns(err)
    return "\n".join(part for line in plain(str(error)).split("\n") for part in wrapped(line, columns, "    ", ""))


def take_form(words: Sequence[str]) -> tuple[str, list[str]]:
    """The form of the document that is asked for ('' for text), and the other arguments. Raises UsageErrors."""
    output, rest = take_option(words, "-o", "--output")
    if output not in (None, "text", *FORMS):
        raise UsageErrors([ConfigProblem("--output", output, f"must be text or {' or '.join(FORMS)}")])
    return form_of(output or ""), rest


def take_option(words: Sequence[str], *names: str) -> tuple[str | None, list[str]]:
    """The value of an option, None if it is not given, and the other words; `names`: `-o`, `--output`.

    Its value is the next word, or follows an `=`, or the letter of a short name. The last one of several counts.
    """
    found, rest, coming = None, list[str](), iter(words)
    for word in coming:
        name = next((one for one in names if word == one or word.startswith(_option_start(one))), "")
        if not name:
            rest.append(word)
        elif word == name:
            found = next(coming, "")
        else:
            found = word.removeprefix(name).removeprefix("=")
    return found, rest


def _option_start(name: str) -> str:
    """The start of a word that contains both the option and its value."""
    return f"{name}=" if name.startswith("--") else name


def _validate(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[ConfigProblem, ...]]:
    from .loading import load

    try:
        return load(words, recover=False).warnings, ()
    except ConfigErrors as error:
        return (), error.problems


def check(words: Sequence[str], form: str, out: TextIO, validate: Validate = _validate) -> int:
    """Validate the arguments of `start`. `validate`: checks more than flags and configuration.

    Raises UsageErrors for a word that is no flag: the start takes none either.
    """
    from .flags.parsing import positional

    names, _ = positional(words)
    if names:
        raise UsageErrors([ConfigProblem(name, "", f"is no flag{hint_of([f'--config={name}'])}") for name in names])
    warnings, problems = validate(words)
    if form:
        found = {"valid": not problems, "problems": problems, "warnings": warnings}
        out.write(document_text(found, form) + "\n")
        return 1 if problems else 0
    if problems:
        raise ConfigErrors(problems)
    from supervision.cli.text import terminal_columns, wrapped

    for warning in warnings:
        out.write("\n".join(wrapped(f"warning: {warning}", terminal_columns(out), "    ", "")) + "\n")
    out.write("valid\n")
    return 0


def show(words: Sequence[str], form: str, out: TextIO) -> int:
    """Print every effective value with its source, or those of the fields among the words."""
    from .flags.parsing import positional
    from .loading import load
    from .shown_fields import chosen, chosen_plain, flat, masked, print_rows
    from .sources.effective import shown_source, to_plain

    fields, flags = positional(words)
    agent = load(flags, recover=False)
    every = [(path, value, shown_source(agent.config_sources, path, value)) for path, value in flat(agent.config)]
    rows = chosen(fields, every, agent.config_sources)
    if form:
        found = chosen_plain(fields, masked(to_plain(agent.config)), rows, agent.config_sources)
        out.write(document_text(found, form) + "\n")
        return 0
    print_rows(rows, out)
    return 0


def explain(words: Sequence[str], form: str, out: TextIO, effect: Callable[[str], str] = lambda field: "") -> int:
    """Document fields, flags and gates. `effect`: what a change of a top-level field does to a running agent.
    A document for programs maps each name to its `ConfigExplanation`."""
    from supervision.cli.text import folded, terminal_columns, wrapped

    from .documentation import entries, similar
    from .documentation import explain as explanation_of
    from .explanation import as_text

    every = [] if words else entries()
    named = {word: explanation_of(word, effect) for word in words}
    if unknown := [word for word, explanation in named.items() if explanation is None]:
        meant = {word: similar(word) or "; `supervise config explain` lists the fields" for word in unknown}
        rules = {word: f"no such field, flag or feature gate{text}" for word, text in meant.items()}
        raise ConfigErrors([ConfigProblem(word, "", rule) for word, rule in rules.items()])
    if form:
        found = named or {entry.path: explanation_of(entry.path, effect) for entry in every}
        out.write(document_text(found, form) + "\n")
        return 0
    columns = terminal_columns(out)
    for explanation in named.values():
        out.write(folded(as_text(explanation) if explanation else "", columns) + "\n")
    for entry in every:
        line = f"{entry.path:<55} {entry.text}"
        below = [entry.path, *wrapped(entry.text, columns, "    ")]
        out.write("\n".join(below if columns and len(line) > columns else [line]) + "\n")
    return 0


COMMANDS: Final[dict[str, Command]] = {
    "check": check,
    "show": show,
    "explain": explain,
}


def early_text(argv: Sequence[str], program: str = "supervise start") -> str | None:
    """The text that `start` prints for --help or --version before it exits with 0; else None.

    Invalid flags are ignored here: `load` reports them together with all other problems.
    """
    from .flags.parsing import parse

    parsed = parse(argv)
    if parsed.problems:
        return None
    if parsed.values.get("help"):
        from supervision.cli.text import folded, terminal_columns

        from .flags.usage import help_text

        return folded(help_text(program), terminal_columns(sys.stdout))
    if parsed.values.get("version", "false") != "false":
        from .version import version_text

        return version_text(parsed.values["version"]) + "\n"
    return None
