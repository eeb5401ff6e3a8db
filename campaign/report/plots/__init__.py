"""Takes: the rows of the table, and the plots that a rule pack names.
Gives: PNG files, and what is to be seen in each.
Must not know: how the numbers were selected.
"""
