/* attempt: the executions of a job's runs, one after another. The next may begin before all of the last one is written. */
#pragma once

#include "witness/gather.h"
#include "witness/job.h"
#include "witness/record.h"

/* Before all else. */
void attempt_serve(const struct job *job, const struct around *around);

/* What a node says of a run. */
void attempt_keep(const struct told *told);

/* The words of job.h. Those that ask something give the answer. */
void attempt_begin(const char *folder, const char *directory);
void attempt_watch(const char *launcher, const char *directory);
const char *attempt_ready(void);
void attempt_close(bool made, bool ended, char *expected);
const char *attempt_closed(void);

/* Writes the records of those of which all has been said. */
void attempt_write_some(void);
