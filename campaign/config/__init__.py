"""Takes: the campaign file, and in `rules` a rule pack. Gives: `Campaign` and `RulePack`, checked: all problems are
reported at once, with their lines. Must not know: runs, results and Slurm.
"""
