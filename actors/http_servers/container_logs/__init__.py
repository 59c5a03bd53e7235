"""Container logs: read from the runtime's files, filtered by the query of `kubectl logs`.

lines.py       the lines of a log file, in either of two formats
log_file.py    the log file of a container
log_disk.py    whether the disk of the logs answers
log_opener.py  opens a container's log
query.py       the query parameters of /containerLogs, checked
reader.py      reads a container's log file, and follows it through rotation
tail.py        finds the last lines of a log file, reading backwards by blocks
"""
