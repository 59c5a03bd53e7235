"""The command line of the agent.

flag_table.py  every flag: name, kind, default, the field it sets
parsing.py     argv to values, every error at once
values.py      one parser for each kind of value
usage.py       --help
run_once.py    the flags that `run-once` adds to those of its user
flagz.py       the flags in force, for /flagz
arguments.py   the flags of the start on an argparse parser: for completion and manual pages, which read parsers
"""
