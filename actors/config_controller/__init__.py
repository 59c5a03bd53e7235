"""Holds the effective configuration, and changes it while the agent runs.

messages.py             its address and its messages
sources.py              reads and validates the configuration and the supervision policy
candidates.py           the known configurations, by hash
in_force.py             the configuration in force, the desired one, and the actors to restart, pure
consumers.py            which fields may change, and which actors read them
trial.py                which configuration is in force: a state machine, pure
session.py              the file from which an actor that starts reads the configuration in force
watched_directories.py  the directories whose changes have the files read again
actor.py                connects these modules
commands.py             `supervise config history|rollback`
"""
