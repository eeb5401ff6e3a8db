"""Takes: a rule pack in YAML.
Gives: `RulePack`, the values that it has for one campaign, and the catalogue of all rules.
Must not know: the campaign file's format.
"""
