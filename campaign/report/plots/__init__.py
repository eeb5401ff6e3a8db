"""Takes: the rows of the table, and the plots that a rule pack names.
Gives: SVG for the page and as files, and a description of each plot in words.
Must not know: how the numbers were selected.
"""
