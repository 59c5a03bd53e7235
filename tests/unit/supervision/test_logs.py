import io
import json
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.logs import JsonFormatter, KlogFormatter, NeverWaiting, V, actor_of, configure, fields, set_verbosity


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    yield
    root.handlers[:], logging.raiseExceptions = handlers, raising
    root.setLevel(level)


def record(message: str, level: int = logging.INFO, name: str = "pleg", **pairs: object) -> logging.LogRecord:
    made = logging.LogRecord(name, level, "/a/pleg/actor.py", 42, message, (), None)
    made.__dict__.update(fields(**pairs))
    return made


def test_the_text_is_klogs() -> None:
    line = KlogFormatter().format(record('it "said"\nso', pod="default/web", count=3, ok=True))
    assert re.fullmatch(
        r'I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ actor\.py:42\] "it \\"said\\"\\nso" '
        r'logger="pleg" pod="default/web" count=3 ok=true',
        line,
    )


@pytest.mark.parametrize(
    ("level", "letter"),
    [(logging.DEBUG, "I"), (V(2), "I"), (logging.WARNING, "W"), (logging.ERROR, "E"), (logging.CRITICAL, "F")],
)
def test_the_severity_is_the_first_letter(level: int, letter: str) -> None:
    assert KlogFormatter().format(record("x", level))[0] == letter


def test_json_has_the_keys_of_kubernetes() -> None:
    line = json.loads(JsonFormatter().format(record("x", V(3), pod="a/b")))
    assert line.pop("ts") > 1e12
    assert line == {
        "caller": "pleg/actor.py:42",
        "msg": "x",
        "v": 3,
        "pid": os.getpid(),
        "logger": "pleg",
        "pod": "a/b",
    }


def test_a_traceback_follows_the_line() -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        made = logging.LogRecord("pleg", 40, "actor.py", 1, "crashed", (), (type(error), error, error.__traceback__))
    first, *rest = KlogFormatter().format(made).split("\n")
    assert first.endswith('"crashed" logger="pleg"')
    assert rest[-1] == "ValueError: bad"
    assert "ValueError: bad" in json.loads(JsonFormatter().format(made))["stacktrace"]


@pytest.mark.parametrize(
    ("verbosity", "shown"), [(-1, "w"), (0, "wi"), (2, "wi12"), (3, "wi123"), (4, "wi123d"), (5, "wi123d5")]
)
def test_verbosity_is_klogs_and_debug_is_four(verbosity: int, shown: str) -> None:
    stream = io.StringIO()
    logging.getLogger().handlers[:] = [logging.StreamHandler(stream)]
    set_verbosity(verbosity)
    log = logging.getLogger("some")
    levels = {"w": logging.WARNING, "i": logging.INFO, "1": V(1), "2": V(2), "3": V(3), "d": logging.DEBUG, "5": V(5)}
    for name, level in levels.items():
        log.log(level, name)
    assert stream.getvalue().replace("\n", "") == shown


def test_it_writes_to_stderr_and_to_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "agent.log"
    path.write_text("before\n")
    configure(verbosity=2, form="json", log_file=str(path))
    logging.getLogger("pleg").info("relisted %d", 3)
    before, line = path.read_text().splitlines()
    assert before == "before"
    assert json.loads(line)["msg"] == "relisted 3"
    assert json.loads(capfd.readouterr().err) == json.loads(line)


def test_a_log_file_that_cannot_be_opened_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        configure(log_file=str(tmp_path / "nowhere" / "log"))


@given(st.text(), st.text(), st.sampled_from([KlogFormatter(), JsonFormatter()]))
def test_the_actor_is_found_again_whatever_the_message_and_stays_on_one_line(
    message: str, value: str, formatter: logging.Formatter
) -> None:
    line = formatter.format(record(message.replace("%", ""), name="pod_workers/worker/1", pod=value))
    assert "\n" not in line
    assert "\r" not in line
    assert actor_of(line) == "pod_workers/worker/1"


@given(st.text())
def test_any_other_line_has_no_actor_or_text_and_never_raises(line: str) -> None:
    assert isinstance(actor_of(line), str)


def test_a_reader_that_stops_does_not_stop_the_writer_and_hears_of_what_was_lost():

    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb", buffering=0) as reader:
        handler = NeverWaiting(stream)
        record = logging.LogRecord("a", logging.INFO, __file__, 1, "x" * 1000, None, None)
        for _ in range(500):
            handler.emit(record)
        assert handler.lost > 400
        reader.read(1 << 20)
        handler.emit(record)
        assert b"lines of the log were lost" in reader.read(1 << 20)
