"""Questions that wait for their answers: each ends once, with an answer or a reason."""

from __future__ import annotations

import asyncio

import pytest

from supervision.errors import AskError, AskTimeout
from supervision.messaging.questions import Questions
from supervision.messaging.wire import Frame, FrameReader, FrameWriter, encode
from supervision.protocol import Done


def frame(number: int) -> Frame:
    """An answer as it comes over the wire."""
    (found,) = FrameReader().feed(_framed(encode("pleg", Done("yes"), answer=number)))
    assert isinstance(found, Frame)
    return found


def _framed(body: bytes) -> bytes:
    writer = FrameWriter()
    writer.add(body)
    return bytes(writer.take())


async def test_an_answer_ends_the_question_of_its_number() -> None:
    questions = Questions(asyncio.get_running_loop(), 1)
    first, second = questions.open("pleg"), questions.open("pleg")
    assert questions.answered(frame(second))
    assert await questions.answer(second, 5.0) == Done("yes")
    questions.fail(first, AskError("no"))
    with pytest.raises(AskError, match="no"):
        await questions.answer(first, 5.0)


async def test_a_late_answer_is_distinguished_from_one_in_time() -> None:
    questions = Questions(asyncio.get_running_loop(), 1)
    number = questions.open("pleg")
    with pytest.raises(AskTimeout):
        await questions.answer(number, 0.0)
    assert not questions.answered(frame(number))


async def test_a_question_that_has_failed_or_was_answered_gets_no_second_end() -> None:
    """Its asker has not run yet."""
    questions = Questions(asyncio.get_running_loop(), 1)
    failed, answered = questions.open("pleg"), questions.open("pleg")
    asked = [asyncio.create_task(questions.answer(number, 5.0)) for number in (failed, answered)]
    await asyncio.sleep(0)
    questions.fail(failed, AskError("no"))
    assert questions.answered(frame(answered))
    for number in (failed, answered):
        assert not questions.answered(frame(number))
        questions.fail(number, AskError("later"))
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert (str(first), second) == ("no", Done("yes"))


async def test_a_broken_connection_fails_questions_that_are_not_repeated() -> None:
    questions = Questions(asyncio.get_running_loop(), 1)
    lost, kept, other = questions.open("pleg"), questions.open("pleg"), questions.open("prober")
    questions.connection_closed("pleg", {kept})
    with pytest.raises(AskError, match="it died before it answered"):
        await questions.answer(lost, 5.0)
    assert questions.answered(frame(kept))
    assert questions.answered(frame(other))


async def test_numbers_of_two_incarnations_differ() -> None:
    loop = asyncio.get_running_loop()
    assert Questions(loop, 1).open("pleg") != Questions(loop, 2).open("pleg")


async def test_a_question_that_was_answered_cannot_fail_any_more() -> None:
    questions = Questions(asyncio.get_running_loop(), 1)
    number = questions.open("pleg")
    assert questions.answered(frame(number))
    questions.connection_closed("pleg", set())
    assert await questions.answer(number, 5.0) == Done("yes")
