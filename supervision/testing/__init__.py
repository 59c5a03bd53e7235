"""Tests of actors without processes: one actor in the test's event loop, with fake neighbours and a virtual clock.

harness.py           runs one actor in the test's event loop
fake_port.py         the port of an actor in a test: records what the actor does, and answers its questions
fake_answers.py      the test's answers to the actor's questions
fake_disposables.py  runs the test's functions in place of disposable processes
virtual_clock.py     a clock that only a test moves
"""
