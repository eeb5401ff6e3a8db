"""Takes: rules, runs, and what was recorded.
Gives: findings, and a row for each cell of the plan, as pure functions.
Must not know: files, processes and Slurm: a plan, a campaign and a bundle are judged alike.
"""
