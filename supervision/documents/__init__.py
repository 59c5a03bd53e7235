"""Reads one document, YAML or JSON, into plain data: bounded and safe, every problem with its place.

model.py        limits, problems, and the paths of fields
reading.py      `read`: bytes to data and lines
yaml_reader.py  YAML by parser events
scalars.py      what a plain YAML scalar means
"""
