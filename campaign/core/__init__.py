"""Takes: values, texts and files, of no campaign in particular.
Gives: the nouns of a campaign, kinds of error, units, strict YAML, schemas, the journal, bags, signatures, git.
Must not know: what a rule pack says, how results are kept, that there is Slurm.
"""
