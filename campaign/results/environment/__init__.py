"""Takes: facts.jsonl as the job wrote it (docs/formats.md), and what Slurm said of the job.
Gives: facts about nodes, file systems and the job, read within bounds.
Must not know: what the facts should be.
"""
