"""Takes: campaigns, bundles and tables, as offers.
Gives: what differs between them, cell by cell, and whether it is more than noise.
Must not know: the rules: it compares what each of them reports.
"""
