"""Takes: the campaign file, and in `rules` a rule pack.
Gives: `Campaign` and `RulePack`, checked: every problem is reported at once, with its line.
Must not know: runs, results and Slurm: nothing here depends on what was measured.
"""
