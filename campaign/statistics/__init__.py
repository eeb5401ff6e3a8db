"""Takes: numbers.
Gives: intervals, rank tests, the scaling law and the model of contention, all of them pure.
Must not know: where the numbers are from: no cell, no run, no file.
"""
