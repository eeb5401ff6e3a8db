"""Takes: a judged campaign.
Gives: what people read: tables, findings, the page, plots, the workbook, comparisons.
Must not know: how results come about: it changes none of them.
"""
