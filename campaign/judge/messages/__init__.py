"""Takes: the values of what a rule found.
Gives: the findings' texts, a module for each group of rules.
Must not know: how a rule is judged.
"""
