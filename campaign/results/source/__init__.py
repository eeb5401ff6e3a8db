"""Takes: source trees: directories, archives and revisions, as supplied and as built.
Gives: patches, each change with its class and flags, and the report of modifications.
Must not know: which rule judges a change.
"""
