/* lock: two jobs on one target would measure each other. The driver chains its jobs; this holds where drivers do not know of each
 * other. The lock is a directory, since mkdir is atomic on every file system. Its owner is named in it, so that the lock of a
 * job that died can be told from that of one that runs. */
#pragma once

#include "witness/job.h"

/* Waits for the target and takes it. Returns NULL, also where the job is ending, or why nothing may be measured there, to be
 * freed: "itself" where this job already holds it. */
char *lock_take(const struct job *job);

/* Gives it up; not where somebody has taken it for stale, and another's is there now. */
void lock_release(void);
