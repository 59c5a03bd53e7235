"""Supervisors: what they decide when something happens to a child, and the policies that they decide by.

supervisor.py         the supervisor: an actor that creates, watches, restarts and stops its children
transitions.py        what a supervisor does when something happens to a child
children.py           the state of a supervisor's children, and the events that change it
strategy.py           the restart strategies one_for_one, one_for_all and rest_for_one
intensity.py          restart intensity as in Erlang/OTP: a limit of restarts within a period
policy.py             the supervision policy of each actor: its default in the tree
policy_file.py        reads the policy file as plain data with line numbers: bounded, without aliases and tags
policy_rules.py       the valid values of each policy setting: one table, for policy files and for orders
"""
