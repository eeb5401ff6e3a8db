/* owned: the directories that a job creates on its target. Whoever may write in the target can rename what is in it, and put a
 * link or a directory of their own in its place. So a directory that the job has created is opened, and looked at whether it
 * is what was created; what is written or removed in it then goes through that. The texts are for the job's record. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a directory of the job's own right after it was created, when it is still empty: -1 where something else is there. */
int owned_open_new(const char *directory);

/* Why nothing may be done there; to be freed. */
char *owned_replaced(const char *directory);

/* witness make DIRECTORY: creates the directory of an attempt and prints its inode, or why not. */
int owned_make(const char *directory);

/* witness within DIRECTORY [INODE]: says where the directory in which this program was started is not that one. */
int owned_within(const char *directory, const char *inode);

/* witness clear DIRECTORY: removes the attempt's directory, in which this program was started, wherever somebody may have
 * moved it. Prints how many files were left in it. */
int owned_clear(const char *directory);

/* witness stale DIRECTORY [INODE]: removes a directory that an earlier attempt has left behind, or says why not. */
int owned_remove_stale(const char *directory, const char *inode);
