"""Reads one YAML or JSON document into plain data, within limits; every problem has its line and path.

model.py        limits, problems, and the paths of fields
reader.py       `read`: bytes to data and lines
yaml_reader.py  YAML by parser events
scalars.py      what a plain YAML scalar means
strict.py       checks plain data against msgspec types and reports every unknown field and every wrong type
suggestions.py  suggests known names for an unknown one
"""
