"""Takes: a number of nodes.
Gives: a Slurm cluster of virtual nodes on this machine, for rehearsals and tests (docs/sandbox.md).
Must not know: campaigns: it is a cluster like any other.
"""
