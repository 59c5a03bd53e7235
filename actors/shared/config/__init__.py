"""The configuration of the agent: what may be said, how it is read, merged and judged, and what every actor is handed.

duration.py, resources.py         values as Go and Kubernetes write them
kubelet_configuration.py          the KubeletConfiguration object and its defaults (groups.py: its parts)
feature_gates.py                  the gates that 1.36 knows
flag_table.py, flags.py           the command line
documents.py, merge.py            files: safe reading, drop-ins, precedence
decoding.py, rules.py             strict decoding and validation, every error at once
loading.py                        argv and files to an Agent
agent.py                          what every actor finds as `self.context`
"""
