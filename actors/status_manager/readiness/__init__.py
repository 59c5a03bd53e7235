"""Whether each container is started and ready: by its probes, and after a restart by a file.

| module | purpose |
|---|---|
| readiness_table | by the results of probes or, before the first result, by the file |
| readiness_file | the file |
| readiness_saver | when the file is written |
"""
