"""Takes: what executions left: output, records of the job, sources.
Gives: the store, cells with their measurements, parsed output, the environment, differences of sources.
Must not know: what should have been run, and whether a result is valid.
"""
