"""Incidents: each end, hang and restart of an actor as a record, in a bounded file that survives a full disk.

incident.py         incident records: their fields, and reading the file of JSON lines that holds them
incident_file.py    writes incident records to that file
spare_incidents.py  keeps the records that cannot be written to it for the next agent
"""
