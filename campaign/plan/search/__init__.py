"""Takes: the points that were measured (docs/search.md).
Gives: what to measure next, or the choice, as a pure function.
Must not know: campaigns, runs and files.
"""
