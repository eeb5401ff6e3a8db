/* inputs: the files that the benchmark reads, hashed on all nodes of the job. */
#pragma once

/* Before all else, with tabs between the paths. */
void inputs_are(const char *paths);

/* Facts of an attempt's folder: hash and size for each node and file. A node that does not answer has none. */
void inputs_hash(const char *folder);

/* On a node: the lines of these files. Returns the exit status. */
int inputs_say(char *const paths[], int count);
