"""Takes: a judged campaign, or a bundle of unknown origin.
Gives: the bundle; and whether it is intact and gives the same tables and verdict when re-evaluated.
Must not know: Slurm: a bundle is verified offline.
"""
