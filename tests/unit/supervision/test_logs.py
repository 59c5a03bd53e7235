import io
import json
import logging
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision import logs
from supervision.log_streams import Console, Sink
from supervision.logs import JsonFormatter, KlogFormatter, V, actor_of, configure, set_verbosity
from supervision.protocol import Split


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    yield
    root.handlers[:], logging.raiseExceptions = handlers, raising
    root.setLevel(level)
    for name in ("asyncio", "grpc"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def record(message: str, level: int = logging.INFO, name: str = "pleg") -> logging.LogRecord:
    return logging.LogRecord(name, level, "/a/pleg/actor.py", 42, message, (), None)


def test_the_text_is_klogs() -> None:
    line = KlogFormatter().format(record('it "said"\nso'))
    assert re.fullmatch(
        r'I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ actor\.py:42\] "it \\"said\\"\\nso" logger="pleg"',
        line,
    )


def test_an_error_of_the_system_is_reported_without_its_number() -> None:
    error = PermissionError(13, "Permission denied", "/etc/x")
    made = logging.LogRecord("pleg", logging.WARNING, "/a/pleg/actor.py", 42, "%s stays: %s", ("it", error), None)
    assert '"it stays: /etc/x: Permission denied"' in KlogFormatter().format(made)
    assert json.loads(JsonFormatter().format(made))["msg"] == "it stays: /etc/x: Permission denied"


@pytest.mark.parametrize(
    ("level", "letter"),
    [(logging.DEBUG, "I"), (V(2), "I"), (logging.WARNING, "W"), (logging.ERROR, "E"), (logging.CRITICAL, "F")],
)
def test_the_severity_is_the_first_letter(level: int, letter: str) -> None:
    assert KlogFormatter().format(record("x", level))[0] == letter


def test_json_has_the_keys_of_kubernetes() -> None:
    line = json.loads(JsonFormatter().format(record("x", V(3))))
    assert line.pop("ts") > 1e12
    assert line == {
        "caller": "pleg/actor.py:42",
        "msg": "x",
        "v": 3,
        "pid": os.getpid(),
        "logger": "pleg",
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


@pytest.mark.parametrize(
    ("verbosity", "vmodule", "shown"),
    [(4, (), {"a"}), (8, (), {"a", "library"}), (2, (("asyncio", 4),), {"library"})],
)
def test_what_libraries_say_of_their_insides_is_for_the_highest_verbosity(
    verbosity: int, vmodule: tuple[tuple[str, int], ...], shown: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    logs.configure(verbosity=verbosity, vmodule=vmodule)
    logging.getLogger("pleg").debug("a")
    logging.getLogger("asyncio").debug("library")
    logging.getLogger("asyncio").warning("slow")
    text = capfd.readouterr().err
    assert {word for word in ("a", "library") if f'"{word}"' in text} == shown
    assert '"slow"' in text


@pytest.mark.parametrize(
    ("actor", "shown"), [("pleg", "w125"), ("pod_workers/worker/0", "w12"), ("prober", "w1"), ("anything", "w1")]
)
def test_an_actor_that_a_vmodule_rule_names_logs_more_than_the_others(
    monkeypatch: pytest.MonkeyPatch, actor: str, shown: str
) -> None:
    monkeypatch.setattr(logs, "_threshold", logs._Threshold())
    stream = io.StringIO()
    logging.getLogger().handlers[:] = [logging.StreamHandler(stream)]
    logs.reconfigure(verbosity=1, form="text", vmodule=(("pleg", 5), ("pod_workers*", 2), ("prober", 0)))
    logging.getLogger().handlers[0].setFormatter(None)
    for name, level in {"w": logging.WARNING, "1": V(1), "2": V(2), "5": V(5), "6": V(6)}.items():
        logging.getLogger(actor).log(level, name)
    assert stream.getvalue().replace("\n", "") == shown


def test_a_log_line_goes_to_stderr_and_to_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "agent.log"
    path.write_text("before\n")
    configure(verbosity=2, form="json", log_file=str(path))
    logging.getLogger("pleg").info("relisted %d", 3)
    before, line = path.read_text().splitlines()
    assert before == "before"
    assert json.loads(line)["msg"] == "relisted 3"
    assert json.loads(capfd.readouterr().err) == json.loads(line)


def test_a_name_that_is_not_utf_8_loses_no_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.log"
    configure(verbosity=2, log_file=str(path))
    logging.getLogger("pleg").info("file %s", os.fsdecode(b"a\xff"))
    assert '"file a?"' in path.read_text()


@pytest.mark.parametrize("formatter", [KlogFormatter(), JsonFormatter()])
def test_a_line_has_no_control_characters(formatter: logging.Formatter) -> None:
    line = formatter.format(record("a\x1b]0;x\x07\x7f\x9b1m"))
    assert not [char for char in line if unicodedata.category(char) == "Cc"]
    assert "\\u009b1m" in line


def test_a_log_file_that_cannot_be_opened_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        configure(log_file=str(tmp_path / "nowhere" / "log"))


@given(st.text(), st.sampled_from([KlogFormatter(), JsonFormatter()]))
def test_the_actor_is_found_again_whatever_the_message_and_stays_on_one_line(
    message: str, formatter: logging.Formatter
) -> None:
    line = formatter.format(record(message.replace("%", ""), name="pod_workers/worker/1"))
    assert "\n" not in line
    assert "\r" not in line
    assert actor_of(line) == "pod_workers/worker/1"


@given(st.text())
def test_any_other_line_has_no_actor_or_text_and_never_raises(line: str) -> None:
    assert isinstance(actor_of(line), str)


def test_a_stopped_reader_does_not_block_the_writer_and_sees_the_number_of_lost_lines():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb", buffering=0) as reader:
        handler = Console(stream)
        record = logging.LogRecord("a", logging.INFO, __file__, 1, "x" * 1000, None, None)
        for _ in range(500):
            handler.emit(record)
        assert handler.lost > 400
        reader.read(1 << 20)
        handler.emit(record)
        assert b"lines of the log were lost" in reader.read(1 << 20)


# -- two streams ------------------------------------------------------------------------------------------------------
Capture = pytest.CaptureFixture[str]


def say(*levels: int) -> None:
    for level in levels:
        logging.getLogger("pleg").log(level, logging.getLevelName(level))


ALL = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


@pytest.mark.parametrize(
    ("form", "out", "err"),
    [("text", ["DEBUG", "INFO"], ["WARNING", "ERROR"]), ("json", ["DEBUG", "INFO", "WARNING"], ["ERROR"])],
)
def test_lines_below_error_go_to_stdout_on_request(capfd: Capture, form, out, err) -> None:
    configure(verbosity=4, form=form, split=Split())
    say(*ALL)
    found = capfd.readouterr()
    words = re.compile("DEBUG|INFO|WARNING|ERROR")
    assert (words.findall(found.out), words.findall(found.err)) == (out, err)


def test_lines_are_held_back_until_they_are_many_or_an_error_comes_or_they_are_flushed(capfd: Capture) -> None:
    configure(split=Split(buffer_bytes=200, flush_seconds=60.0))
    say(logging.INFO)
    assert capfd.readouterr() == ("", "")
    say(logging.ERROR)
    assert [text.count("INFO") + text.count("ERROR") for text in capfd.readouterr()] == [1, 1]
    say(logging.INFO, logging.INFO)
    logs.flush(due=True)
    assert capfd.readouterr() == ("", "")
    say(*[logging.INFO] * 3)
    assert 2 <= capfd.readouterr().out.count("INFO") < 5
    logs.flush()
    assert 0 < capfd.readouterr().out.count("INFO") <= 3


def test_a_line_buffered_for_long_enough_is_due(capfd: Capture) -> None:
    configure(split=Split(buffer_bytes=2000, flush_seconds=0.0))
    say(logging.INFO)
    logs.flush(due=True)
    assert capfd.readouterr().out.count("INFO") == 1


def test_a_line_that_is_longer_than_the_buffer_is_written_in_its_turn(capfd: Capture) -> None:
    configure(split=Split(buffer_bytes=300, flush_seconds=60.0))
    say(logging.INFO)
    logging.getLogger("pleg").info("x" * 400)
    assert re.findall("INFO|xxxx", capfd.readouterr().out)[:2] == ["INFO", "xxxx"]


def test_a_child_does_not_write_what_its_parent_holds_back(capfd: Capture) -> None:
    configure(split=Split(buffer_bytes=2000, flush_seconds=60.0))
    say(logging.INFO)
    logs.forget()
    logs.flush()
    assert capfd.readouterr().out == ""


def test_switching_back_to_one_stream_loses_no_line(capfd: Capture) -> None:
    configure(split=Split(buffer_bytes=2000, flush_seconds=60.0))
    say(logging.INFO)
    logs.reconfigure(verbosity=2, form="text")
    say(logging.INFO)
    assert [text.count("INFO") for text in capfd.readouterr()] == [1, 1]


def test_a_large_output_is_written_in_parts_that_end_with_a_whole_line() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb"), os.fdopen(reading, "rb", buffering=0) as reader:
        sink = Sink(writing, size=1 << 15)
        for number in range(200):
            sink.write(b"%099d\n" % number)
        sink.flush()
        assert reader.read(1 << 16).splitlines() == [b"%099d" % number for number in range(200)]
        assert sink.lost == 0
