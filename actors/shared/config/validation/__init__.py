"""Validates a configuration: reports every broken rule, and warnings.

rules.py                 the table of all rules, and the warnings
rule_kinds.py            the kinds of rules, and the facts about the host that they use
node_checks.py           rules of many fields about the node
resource_checks.py       rules about reservations, eviction and memory
cpu_policy_checks.py     rules about the CPU policy, its options and its reservation
memory_policy_checks.py  the rule about the memory policy and its reservation
flag_checks.py           rules about flags
unsupported.py           fields that nothing acts on yet
"""
