"""Takes: `stdout`, `stderr` and `bench.jsonl` of an execution.
Gives: records and an observation; no content of a file makes them raise.
Must not know: what was planned.
"""
