"""Profiles of a server's own process, for /debug/pprof.

- stacks.py: stacks of frames, of tasks and of threads; objects by type
- processor_time.py: where processor time goes
- pprof.py: a profile in the form that `go tool pprof` reads
- text.py: a profile as lines for a person, and for flame graph tools
"""
