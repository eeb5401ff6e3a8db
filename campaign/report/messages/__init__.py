"""Takes: the values of what a person reads in tables, texts, workbooks and comparisons.
Gives: their sentences, a module for each subject.
Must not know: how they are laid out.
"""
