"""Takes: what the readers of results, the comparison of sources and the database found.
Gives: the sentence to print for each, with an example, as one list to be read and reviewed.
Must not know: when a message is due.
"""
