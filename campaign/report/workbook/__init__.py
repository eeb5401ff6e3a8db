"""Takes: a judged campaign.
Gives: the table, the findings and the provenance as one XLSX file.
Must not know: the other forms of the report.
"""
