/* target: the directory where the runs write, as a node sees it. */
#pragma once

/* "shared" where this node sees a file that the job has just created there, "apart" where it does not within 2 s, "missing"
 * where it has no such directory. */
const char *target_seen(const char *directory, const char *mark);

/* What is mounted there, with what its client is set to. root as machine_say has it. */
void target_say(const char *root, const char *directory);

/* Type and source of what is mounted there, each to be freed; NULL where that is not known. */
void target_mounted(const char *directory, char **type, char **source);
