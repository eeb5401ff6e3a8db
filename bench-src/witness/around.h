/* around: what a job finds around itself before its first run: its storage, Slurm, and what each of its nodes says. */
#pragma once

#include "witness/job.h"
#include "witness/record.h"

/* As soon as the job's script is served, the nodes can speak. */
struct around *around_begin(const struct job *job);

/* Asks, waits for the nodes, and writes the job's facts.jsonl. Which nodes do not see the target, to be freed, or NULL. */
char *around_look(struct around *around, const struct job *job, int64_t started_us);
