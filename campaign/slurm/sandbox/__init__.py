"""A Slurm cluster of virtual nodes on this machine, for rehearsals and tests; see docs/sandbox.md.

`Sandbox` is the interface for Python, `add_arguments` and `main` the one for the command line.
"""
