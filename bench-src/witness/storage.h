/* storage: whether the target is the storage that was meant, shared by all nodes of the job. The texts say why nothing may be
 * measured there, and are to be freed; NULL where it may. */
#pragma once

#include "witness/job.h"

/* What is mounted at the target is kept by the campaign's first job; on something else no later one measures. */
char *storage_same_mount(const struct job *job);

/* A directory that one node alone sees would be measured as if it were the storage of all: a job of one node compares with the
 * machine that submitted it. */
char *storage_shared(const struct job *job);

/* A file in the target that this job makes, to see whether all its nodes see it; "" where it has none. */
const char *storage_make_mark(const struct job *job);
void storage_remove_mark(void);
