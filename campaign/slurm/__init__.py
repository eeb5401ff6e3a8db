"""Takes: runs.
Gives: scripts, submitted attempts, their state, and their imported output.
Must not know: the rules: it measures what it is given and judges nothing.
"""
