"""Takes: a campaign file.
Gives: the campaign, planned, submitted, followed, collected and judged; every stage does only what is missing.
Must not know: how anything is printed.
"""
