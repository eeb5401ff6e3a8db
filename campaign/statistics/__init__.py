"""Takes: numbers. Gives: intervals, rank tests, the scaling law and the contention model; all pure. Must not know: what
the numbers mean: no cell, no run, no file.
"""
