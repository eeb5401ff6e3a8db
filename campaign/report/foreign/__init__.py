"""Takes: a table as CSV or XLSX, which another party may have written.
Gives: its rows by the names of their columns, each with its place in the file.
Must not know: what the columns mean.
"""
