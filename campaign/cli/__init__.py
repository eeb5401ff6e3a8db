"""Takes: words of the command line.
Gives: output for people or as JSON, and the exit status.
Must not know: any rule of its own: it calls the other packages and prints.
"""
