"""Takes: a campaign, its rule pack, and what was measured so far.
Gives: runs and cells, what a search measures next, how many repetitions, how long it takes.
Must not know: how a run is submitted.
"""
